#include "edge/identity.h"

#include "base/text.h"
#include "kit/status_matchers.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;

const std::string kToken = "cbt_v4.public." + std::string(120, 'A');
const std::string kOther = "cbt_v4.public." + std::string(120, 'B');

struct Parsed {
  explicit Parsed(const std::string& fields) : text("GET /x HTTP/1.1\r\nHost: a.test\r\n" + fields + "\r\n") {
    EXPECT_TRUE(wire::ParseRequestHead(text, {}, &head).complete()) << text;
  }
  std::string text;
  wire::RequestHead head;
};

std::string Basic(const std::string& login) { return "Basic " + base::Base64Encode(login); }

// B13, B77: where clients put it.
TEST(IdentityTest, FindsTheTokenInEverySlot) {
  std::string unpadded = Basic("x-access-token:" + kToken);
  while (unpadded.ends_with('=')) unpadded.pop_back();
  for (const std::string& value : {"Bearer " + kToken, "token " + kToken, "bearer " + kToken, Basic("x-access-token:" + kToken),
                                   Basic(kToken + ":"), Basic(kToken + ":x-oauth-basic"), "basic " + base::Base64Encode("u:" + kToken), unpadded}) {
    const Parsed request("Authorization: " + value + "\r\n");
    ASSERT_OK_AND_ASSIGN(const std::string found, RequestToken(request.head));
    EXPECT_EQ(found, kToken) << value;
    const Parsed proxy("Proxy-Authorization: " + value + "\r\n");
    ASSERT_OK_AND_ASSIGN(const std::string login, ProxyToken(proxy.head));
    EXPECT_EQ(login, kToken) << value;
  }
  for (const char* name : {"x-api-key", "PRIVATE-TOKEN"}) {
    const Parsed request(std::string(name) + ": " + kToken + "\r\n");
    ASSERT_OK_AND_ASSIGN(const std::string found, RequestToken(request.head));
    EXPECT_EQ(found, kToken) << name;
  }
}

TEST(IdentityTest, ForeignCredentialsAreNotTokens) {
  for (const char* value : {"Bearer ghp_abcdef", "Basic dTpw", "Basic !!!", "Digest x"}) {
    const Parsed request(std::string("Authorization: ") + value + "\r\n");
    ASSERT_OK_AND_ASSIGN(const std::string found, RequestToken(request.head));
    EXPECT_EQ(found, "") << value;
    const Parsed proxy(std::string("Proxy-Authorization: ") + value + "\r\n");
    EXPECT_THAT(ProxyToken(proxy.head), FailsWith(ErrorCode::kBadToken)) << value;
  }
}

TEST(IdentityTest, TwoDifferentTokensAreAmbiguous) {
  const Parsed two("Authorization: Bearer " + kToken + "\r\nx-api-key: " + kOther + "\r\n");
  EXPECT_THAT(RequestToken(two.head), FailsWith(ErrorCode::kAmbiguousToken));
  const Parsed same("Authorization: Bearer " + kToken + "\r\nx-api-key: " + kToken + "\r\n");
  ASSERT_OK_AND_ASSIGN(const std::string found, RequestToken(same.head));
  EXPECT_EQ(found, kToken);
}

// B15.
TEST(IdentityTest, TokensElsewhereAreMisplaced) {
  EXPECT_TRUE(HasMisplacedToken(Parsed("Referer: https://a.test/" + kToken + "\r\n").head, {}, {}));
  EXPECT_TRUE(HasMisplacedToken(Parsed("User-Agent: " + kToken + "\r\n").head, {}, {}));
  EXPECT_FALSE(HasMisplacedToken(Parsed("Authorization: Bearer " + kToken + "\r\n").head, {}, {}));
  const std::string text = "GET /x?t=" + kToken + " HTTP/1.1\r\nHost: a.test\r\n\r\n";
  wire::RequestHead head;
  ASSERT_TRUE(wire::ParseRequestHead(text, {}, &head).complete());
  EXPECT_TRUE(HasMisplacedToken(head, {}, {}));
}

// The slot of the service's own credential takes the token too (design section 4).
TEST(IdentityTest, FindsTheTokenInThePlaceOfTheService) {
  using Kind = model::Placement::Kind;
  const std::vector<model::Placement> places = {
      {Kind::kHeader, "x-corp-login", "Key ", ""}, {Kind::kCookie, "sid", "", ""}, {Kind::kQuery, "key", "", ""}};
  const std::string query = "?a=1&key=" + kToken;
  for (const auto& [fields, asked] : std::vector<std::pair<std::string, std::string>>{{"X-Corp-Login: " + kToken + "\r\n", ""},
                                                                                      {"x-corp-login: Key " + kToken + "\r\n", ""},
                                                                                      {"Cookie: a=b; sid=" + kToken + "; c=d\r\n", ""},
                                                                                      {"", query}}) {
    const Parsed request(fields);
    ASSERT_OK_AND_ASSIGN(const std::string found, PlacedToken(request.head, asked, places));
    EXPECT_EQ(found, kToken) << fields;
    ASSERT_OK_AND_ASSIGN(const std::string none, PlacedToken(request.head, asked, {}));
    EXPECT_EQ(none, "");
    EXPECT_FALSE(HasMisplacedToken(request.head, asked, places)) << fields;
  }
  const Parsed two("X-Corp-Login: " + kToken + "\r\nCookie: sid=" + kOther + "\r\n");
  EXPECT_THAT(PlacedToken(two.head, "", places), FailsWith(ErrorCode::kAmbiguousToken));
  const Parsed elsewhere("X-Other: " + kToken + "\r\nCookie: other=" + kToken + "\r\n");
  ASSERT_OK_AND_ASSIGN(const std::string none, PlacedToken(elsewhere.head, "?other=" + kToken, places));
  EXPECT_EQ(none, "");
  EXPECT_TRUE(HasMisplacedToken(elsewhere.head, "", places));
}

}  // namespace
}  // namespace credbroker::edge
