#include "rewrite/place.h"

#include <string>

#include "base/text.h"
#include "kit/status_matchers.h"
#include "wire/http_head.h"

namespace credbroker::rewrite {
namespace {

using base::ErrorCode;
using base::Secret;
using model::Placement;
using testing_kit::FailsWith;
using testing_kit::IsOk;
using Kind = Placement::Kind;

Placement Basic(const std::string& user) { return {.kind = Kind::kBasic, .name = "", .prefix = "", .username = user}; }
Placement Header(const std::string& name, const std::string& prefix) {
  return {.kind = Kind::kHeader, .name = name, .prefix = prefix};
}
Placement Query(const std::string& name) { return {.kind = Kind::kQuery, .name = name}; }
Placement Cookie(const std::string& name) { return {.kind = Kind::kCookie, .name = name}; }

TEST(PlaceTest, WritesTheOneHeader) {
  struct Case {
    Placement placement;
    std::string line, name;
  };
  for (const Case& c :
       {Case{Basic("bot"), "authorization: Basic " + base::Base64Encode("bot:s3cret") + "\r\n", "authorization"},
        Case{Basic(""), "authorization: Basic " + base::Base64Encode(":s3cret") + "\r\n", "authorization"},
        Case{Header("authorization", "Bearer "), "authorization: Bearer s3cret\r\n", "authorization"},
        Case{Header("X-Api-Key", ""), "X-Api-Key: s3cret\r\n", "x-api-key"},
        Case{Cookie("s"), "cookie: s=s3cret\r\n", "cookie"}}) {
    std::string out = "GET / HTTP/1.1\r\n";
    ASSERT_THAT(AppendCredentialHeader(c.placement, Secret::Copy("s3cret"), &out), IsOk());
    EXPECT_EQ(out, "GET / HTTP/1.1\r\n" + c.line);
    EXPECT_EQ(PlacedHeaderName(c.placement), c.name);
  }
  EXPECT_EQ(PlacedHeaderName(Query("key")), "");
}

// B17: nothing that could end its field is ever written.
TEST(PlaceTest, RefusesValuesThatWouldBreakTheHead) {
  for (const std::string& value : {std::string(), std::string("a\n"), std::string("a\r\n"), std::string("\n"),
                                   std::string("a\r\nX-Evil: 1"), std::string("a\0b", 3), std::string("a\x7f"),
                                   std::string("a\tb"), std::string(" a"), std::string("a "), std::string("\xff")}) {
    std::string out;
    EXPECT_THAT(AppendCredentialHeader(Header("x-api-key", ""), Secret::Copy(value), &out),
                FailsWith(ErrorCode::kSecretInvalid))
        << value;
    EXPECT_THAT(AppendCredentialHeader(Cookie("s"), Secret::Copy(value), &out), FailsWith(ErrorCode::kSecretInvalid))
        << value;
    EXPECT_THAT(AppendTargetWithCredential(Query("key"), Secret::Copy(value), "/", &out),
                FailsWith(ErrorCode::kSecretInvalid))
        << value;
    EXPECT_EQ(out, "");
  }
  std::string out;
  for (const char* value : {"", "a\n", "a\x01"}) {
    EXPECT_THAT(AppendCredentialHeader(Basic("u"), Secret::Copy(value), &out), FailsWith(ErrorCode::kSecretInvalid));
  }
  for (const char* value : {"a;b", "a,b", "a\"b", "a b", "a\\b"}) {
    EXPECT_THAT(AppendCredentialHeader(Cookie("s"), Secret::Copy(value), &out), FailsWith(ErrorCode::kSecretInvalid))
        << value;
  }
  EXPECT_THAT(AppendCredentialHeader(Basic("a:b"), Secret::Copy("s"), &out), FailsWith(ErrorCode::kSecretInvalid));
  EXPECT_THAT(AppendCredentialHeader(Basic("a\n"), Secret::Copy("s"), &out), FailsWith(ErrorCode::kSecretInvalid));
  EXPECT_THAT(AppendCredentialHeader(Header("a b", ""), Secret::Copy("s"), &out), FailsWith(ErrorCode::kSecretInvalid));
  EXPECT_THAT(AppendCredentialHeader(Header("a", "x\r\ny: "), Secret::Copy("s"), &out),
              FailsWith(ErrorCode::kSecretInvalid));
  EXPECT_THAT(AppendCredentialHeader(Query("key"), Secret::Copy("s"), &out), FailsWith(ErrorCode::kInternal));
  EXPECT_EQ(out, "");
}

TEST(PlaceTest, CarriesLongCredentials) {
  for (const std::size_t size : {40, 520, 1000, 4000}) {
    const std::string value(size, 'k');
    std::string out;
    ASSERT_THAT(AppendCredentialHeader(Basic("x"), Secret::Copy(value), &out), IsOk());
    wire::RequestHead head;
    ASSERT_TRUE(wire::ParseRequestHead("GET / HTTP/1.1\r\nHost: a.test\r\n" + out + "\r\n", {}, &head).complete());
  }
}

TEST(PlaceTest, PutsTheCredentialLastInTheQuery) {
  struct Case {
    const char *resource, *expected;
  };
  for (const Case& c : {Case{"/a", "/a?key=s%2F3"}, Case{"/a?", "/a?key=s%2F3"}, Case{"/a?x=1&y", "/a?x=1&y&key=s%2F3"},
                        Case{"/a?key=mine&x=1", "/a?x=1&key=s%2F3"}, Case{"/a?x=1&k%65y=mine", "/a?x=1&key=s%2F3"}}) {
    std::string out;
    ASSERT_THAT(AppendTargetWithCredential(Query("key"), Secret::Copy("s/3"), c.resource, &out), IsOk());
    EXPECT_EQ(out, c.expected);
  }
  std::string out;
  EXPECT_THAT(AppendTargetWithCredential(Query("key"), Secret::Copy("s"), "/a?%=1", &out),
              FailsWith(ErrorCode::kMalformedHttp));
  EXPECT_EQ(out, "");
  ASSERT_THAT(AppendTargetWithCredential(Header("a", ""), Secret::Copy("s"), "/a?key=1", &out), IsOk());
  EXPECT_EQ(out, "/a?key=1");
}

// With ours the upstream gets no more parameters than we would read ourselves.
TEST(PlaceTest, OursIsOneOfThe256Parameters) {
  std::string others = "/a?";
  for (int i = 0; i < 255; ++i) others += "x&";
  std::string out;
  EXPECT_THAT(AppendTargetWithCredential(Query("key"), Secret::Copy("s"), others + "key=mine", &out), IsOk());
  EXPECT_TRUE(out.ends_with("&x&key=s"));
  out.clear();
  EXPECT_THAT(AppendTargetWithCredential(Query("key"), Secret::Copy("s"), others + "x", &out), FailsWith(ErrorCode::kMalformedHttp));
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace credbroker::rewrite
