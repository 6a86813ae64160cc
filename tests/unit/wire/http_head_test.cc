#include "wire/http_head.h"

#include <string>
#include <vector>

#include "base/str.h"
#include "cuts.h"
#include "kit/status_matchers.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

ParseResult Parse(std::string_view bytes, RequestHead* out, const HeadLimits& limits = {}) {
  return ParseRequestHead(bytes, limits, out);
}

ErrorCode Refusal(std::string_view bytes) {
  RequestHead head;
  const ParseResult result = ParseAtEveryCut(bytes, [&](std::string_view part) { return Parse(part, &head); });
  EXPECT_FALSE(result.need_more()) << bytes;
  return result.error;
}

TEST(RequestHeadTest, ReadsAnOrdinaryRequest) {
  const std::string bytes =
      "POST /o/r.git/git-upload-pack?x=1 HTTP/1.1\r\nHost: git.test:8443\r\nContent-Length:  12\t\r\n"
      "Git-Protocol: version=2\r\nX-Empty:\r\nExpect: 100-Continue\r\n\r\nbody";
  RequestHead head;
  const ParseResult result = ParseAtEveryCut(bytes, [&](std::string_view part) { return Parse(part, &head); });
  ASSERT_TRUE(result.complete());
  ASSERT_TRUE(Parse(bytes, &head).complete());
  EXPECT_EQ(bytes.substr(result.consumed), "body");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/o/r.git/git-upload-pack?x=1");
  EXPECT_EQ(head.resource, head.target);
  EXPECT_EQ(head.form, TargetForm::kOrigin);
  EXPECT_EQ(head.host, "git.test:8443");
  EXPECT_EQ(head.framing, Framing::kLength);
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expect_continue);
  EXPECT_FALSE(head.upgrade);
  EXPECT_EQ(head.FindHeader("GIT-protocol"), "version=2");
  EXPECT_EQ(head.FindHeader("x-empty"), "");
  EXPECT_EQ(head.FindHeader("absent"), std::nullopt);
  EXPECT_EQ(head.CountHeader("content-length"), 1u);
}

TEST(RequestHeadTest, ReusesOneHeadForTheNextRequest) {
  RequestHead head;
  ASSERT_TRUE(Parse("POST http://a.test/x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nUpgrade: h\r\n"
                    "Expect: 100-continue\r\nConnection: close\r\n\r\n",
                    &head)
                  .complete());
  EXPECT_EQ(head.framing, Framing::kChunked);
  ASSERT_TRUE(Parse("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", &head).complete());
  EXPECT_EQ(head.framing, Framing::kNone);
  EXPECT_EQ(head.content_length, 0u);
  EXPECT_EQ(head.form, TargetForm::kOrigin);
  EXPECT_EQ(head.scheme, "");
  EXPECT_EQ(head.authority, "");
  EXPECT_EQ(head.host, "b.test");
  EXPECT_EQ(head.headers.size(), 1u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.expect_continue);
  EXPECT_FALSE(head.upgrade);
}

TEST(RequestHeadTest, ReadsEveryTargetForm) {
  RequestHead head;
  ASSERT_TRUE(Parse("GET HTTP://A.test:80/p?q=http://x/ HTTP/1.1\r\nHost: A.test:80\r\n\r\n", &head).complete());
  EXPECT_EQ(head.form, TargetForm::kAbsolute);
  EXPECT_EQ(head.scheme, "http");
  EXPECT_EQ(head.authority, "A.test:80");
  EXPECT_EQ(head.resource, "/p?q=http://x/");
  ASSERT_TRUE(Parse("GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", &head).complete());
  EXPECT_EQ(head.scheme, "https");
  ASSERT_TRUE(Parse("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nContent-Length: 0\r\n\r\n", &head).complete());
  EXPECT_EQ(head.form, TargetForm::kAuthority);
  EXPECT_EQ(head.authority, "a.test:443");
  EXPECT_EQ(head.resource, "");
  ASSERT_TRUE(Parse("CONNECT [::1]:443 HTTP/1.0\r\n\r\n", &head).complete());
  EXPECT_EQ(head.host, "");
  EXPECT_FALSE(head.keep_alive);
  ASSERT_TRUE(Parse("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n", &head).complete());
  EXPECT_EQ(head.form, TargetForm::kAsterisk);
}

TEST(RequestHeadTest, KeepAliveFollowsVersionAndConnection) {
  struct Case {
    const char* version_and_connection;
    bool keep;
  };
  for (const Case& c : std::vector<Case>{{"HTTP/1.1\r\n", true},
                                         {"HTTP/1.1\r\nConnection: close\r\n", false},
                                         {"HTTP/1.1\r\nConnection: Keep-Alive, Close\r\n", false},
                                         {"HTTP/1.1\r\nConnection: closed, x-close\r\n", true},
                                         {"HTTP/1.0\r\n", false},
                                         {"HTTP/1.0\r\nConnection: , keep-alive ,\r\n", true}}) {
    RequestHead head;
    const std::string bytes = base::StrCat("GET / ", c.version_and_connection, "Host: a.test\r\n\r\n");
    ASSERT_TRUE(Parse(bytes, &head).complete()) << bytes;
    EXPECT_EQ(head.keep_alive, c.keep) << bytes;
  }
}

// The table of B35 and the findings it stands for: one reading of the length, or none.
TEST(RequestHeadTest, RefusesAmbiguousFraming) {
  const std::vector<std::string> cases = {"Content-Length: 5\r\nContent-Length: 50\r\n",
                                          "Content-Length: 5, 5\r\n",
                                          "Content-Length: +5\r\n",
                                          "Content-Length: -5\r\n",
                                          "Content-Length: 0x5\r\n",
                                          "Content-Length: 5 5\r\n",
                                          "Content-Length:\r\n",
                                          "Content-Length: 003\r\n",
                                          "Content-Length: 9999999999999999999\r\n",
                                          "Content-Length: 5.0\r\n",
                                          "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                          "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                          "Transfer-Encoding: xchunked\r\n",
                                          "Transfer-Encoding: chunked, identity\r\n",
                                          "Transfer-Encoding: identity\r\n",
                                          "Transfer-Encoding: gzip, chunked\r\n",
                                          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                          "Transfer-Encoding: chunked,\r\n",
                                          "Transfer-Encoding: \"chunked\"\r\n",
                                          "Transfer-Encoding:\r\n",
                                          "Transfer-Encoding: chunked;q=1\r\n"};
  for (const std::string& fields : cases) {
    EXPECT_EQ(Refusal(base::StrCat("POST / HTTP/1.1\r\nHost: a.test\r\n", fields, "\r\n")),
              ErrorCode::kAmbiguousFraming)
        << fields;
  }
  EXPECT_EQ(Refusal("POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"),
            ErrorCode::kAmbiguousFraming);
  EXPECT_EQ(Refusal("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\n"),
            ErrorCode::kAmbiguousFraming);
  EXPECT_EQ(Refusal("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"),
            ErrorCode::kAmbiguousFraming);
}

TEST(RequestHeadTest, FoldsAnIdenticalLength) {
  RequestHead head;
  ASSERT_TRUE(
      Parse("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", &head).complete());
  EXPECT_EQ(head.framing, Framing::kLength);
  EXPECT_EQ(head.content_length, 5u);
}

TEST(RequestHeadTest, RefusesWhatIsNotStrictHttp) {
  struct Case {
    std::string bytes;
    ErrorCode error;
  };
  const std::string ok = "GET / HTTP/1.1\r\nHost: a.test\r\n";
  const std::vector<Case> cases = {{"GET / HTTP/1.1\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET / HTTP/1.1\r\nHost: a.test\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "\n", ErrorCode::kMalformedHttp},
                                   {ok + "A: b\rc\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "A: b\r\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + std::string("A: b\0c\r\n\r\n", 10), ErrorCode::kMalformedHttp},
                                   {ok + "A: b\x01\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "A: b\x7f\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "A: b\xff\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "A : b\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "Content-Length : 5\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + " A: folded\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "A: b\r\n\tfolded\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + ": b\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "no-colon\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "A(b): c\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {ok + "\xc3\xa4: c\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"\r\n" + ok + "\r\n", ErrorCode::kMalformedHttp},
                                   {"\n" + ok + "\r\n", ErrorCode::kMalformedHttp},
                                   {" GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET /  HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET /a b HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET\t/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET /\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET / http/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET / RTSP/1.0\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET / HTTP/11\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"GET / HTTP/1.2\r\nHost: a.test\r\n\r\n", ErrorCode::kHttpVersion},
                                   {"GET / HTTP/2.0\r\nHost: a.test\r\n\r\n", ErrorCode::kHttpVersion},
                                   {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ErrorCode::kHttpVersion},
                                   {"GET / HTTP/0.9\r\nHost: a.test\r\n\r\n", ErrorCode::kHttpVersion},
                                   {"TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMethodNotSupported},
                                   {"SOURCE / HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMethodNotSupported},
                                   {"get / HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMethodNotSupported},
                                   {"G@T / HTTP/1.1\r\nHost: a.test\r\n\r\n", ErrorCode::kMalformedHttp},
                                   {"\x16\x03\x01\x02\x00", ErrorCode::kMalformedHttp},
                                   {ok + "Expect: 200-ok\r\n\r\n", ErrorCode::kExpectation},
                                   {ok + "Expect: 100-continue, x\r\n\r\n", ErrorCode::kExpectation}};
  for (const Case& c : cases) EXPECT_EQ(Refusal(c.bytes), c.error) << c.bytes;
}

TEST(RequestHeadTest, RefusesOddTargets) {
  const std::vector<std::string> targets = {"/a#f",
                                            "/a\"b",
                                            "/a<b",
                                            "/a>b",
                                            "/a\\b",
                                            "/a^b",
                                            "/a`b",
                                            "/a{b",
                                            "/a|b",
                                            "/a}b",
                                            "/\xc3\xa4",
                                            "/\x7f",
                                            "*",
                                            "a.test",
                                            "//a.test",
                                            "ftp://a.test/",
                                            "http://a.test",
                                            "http://a.test?q",
                                            "http:///x",
                                            "http://u@a.test/",
                                            "https://u:p@a.test/",
                                            "http://a.test%2e/",
                                            "http:/a.test/"};
  for (const std::string& target : targets) {
    if (target == "//a.test") continue;  // well-formed here; CheckPath refuses the empty segment
    const ErrorCode error = Refusal(base::StrCat("GET ", target, " HTTP/1.1\r\nHost: a.test\r\n\r\n"));
    EXPECT_TRUE(error == ErrorCode::kMalformedHttp || error == ErrorCode::kBadHost) << target;
  }
  for (const char* target : {"/", "a.test/x", "u@a.test:443", "*", "http://a.test/"}) {
    const ErrorCode error = Refusal(base::StrCat("CONNECT ", target, " HTTP/1.1\r\nHost: a.test\r\n\r\n"));
    EXPECT_EQ(error, ErrorCode::kBadHost) << target;
  }
}

TEST(RequestHeadTest, AsksForExactlyOneUsableHost) {
  EXPECT_EQ(Refusal("GET / HTTP/1.1\r\n\r\n"), ErrorCode::kBadHost);
  EXPECT_EQ(Refusal("CONNECT a.test:443 HTTP/1.1\r\n\r\n"), ErrorCode::kBadHost);
  EXPECT_EQ(Refusal("GET / HTTP/1.0\r\n\r\n"), ErrorCode::kBadHost);
  for (const char* host : {"", "a.test, b.test", "a.test/x", "u@a.test", "a.test#", "a%2etest", "a b", "a?b"}) {
    EXPECT_EQ(Refusal(base::StrCat("GET / HTTP/1.1\r\nHost: ", host, "\r\n\r\n")), ErrorCode::kBadHost) << host;
  }
  EXPECT_EQ(Refusal("GET / HTTP/1.1\r\nHost: a.test\r\nhost: a.test\r\n\r\n"), ErrorCode::kBadHost);
}

TEST(RequestHeadTest, RefusesRepeatedFieldsThatRulesReadFrom) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a.test\r\n";
  EXPECT_EQ(Refusal(start + "Authorization: a\r\nauthorization: a\r\n\r\n"), ErrorCode::kAmbiguousToken);
  EXPECT_EQ(Refusal(start + "Proxy-Authorization: a\r\nProxy-Authorization: b\r\n\r\n"), ErrorCode::kAmbiguousToken);
  for (const char* name : {"Content-Type", "Content-Encoding", "Git-Protocol", "Expect", "Connection", "Upgrade"}) {
    const std::string line = base::StrCat(name, ": 100-continue\r\n");
    EXPECT_EQ(Refusal(base::StrCat(start, line, line, "\r\n")), ErrorCode::kMalformedHttp) << name;
  }
}

TEST(RequestHeadTest, RefusesUnderscoreDisguises) {
  for (const char* name : {"proxy_authorization", "X_Auth", "X_Auth_User", "x-api_key", "Content_Length",
                           "transfer_encoding", "private_token", "X_Forwarded_For", "git_protocol"}) {
    EXPECT_EQ(Refusal(base::StrCat("GET / HTTP/1.1\r\nHost: a.test\r\n", name, ": 1\r\n\r\n")),
              ErrorCode::kMalformedHttp)
        << name;
  }
  RequestHead head;
  EXPECT_TRUE(Parse("GET / HTTP/1.1\r\nHost: a.test\r\nmy_field: 1\r\n\r\n", &head).complete());
}

TEST(RequestHeadTest, ConnectionCannotRemoveWhatTheRequestMeans) {
  for (const char* name :
       {"Authorization", "host", "Content-Length", "cookie", "PRIVATE-TOKEN", "git-protocol", "close, Host"}) {
    EXPECT_EQ(Refusal(base::StrCat("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: ", name, "\r\n\r\n")),
              ErrorCode::kMalformedHttp)
        << name;
  }
  EXPECT_EQ(Refusal("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: a b\r\n\r\n"), ErrorCode::kMalformedHttp);
}

TEST(RequestHeadTest, KeepsItsLimits) {
  const HeadLimits limits{.max_head_bytes = 200, .max_target_bytes = 20, .max_headers = 3};
  const auto refusal = [&](const std::string& bytes) {
    RequestHead head;
    return ParseAtEveryCut(bytes, [&](std::string_view part) { return Parse(part, &head, limits); }).error;
  };
  const std::string start = "GET / HTTP/1.1\r\nHost: a.test\r\n";
  EXPECT_EQ(refusal(start + "A: 1\r\nB: 2\r\n\r\n"), ErrorCode::kNone);
  EXPECT_EQ(refusal(start + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n"), ErrorCode::kHeadTooLarge);
  EXPECT_EQ(refusal(start + "A: " + std::string(200, 'a') + "\r\n\r\n"), ErrorCode::kHeadTooLarge);
  EXPECT_EQ(refusal(start + "A: " + std::string(200, 'a')), ErrorCode::kHeadTooLarge);
  EXPECT_EQ(refusal("GET /" + std::string(20, 'a') + " HTTP/1.1\r\nHost: a.test\r\n\r\n"), ErrorCode::kUriTooLong);
  EXPECT_EQ(refusal(std::string(100, 'a')), ErrorCode::kUriTooLong);
  EXPECT_EQ(refusal("GET /" + std::string(100, 'a') + "\n"), ErrorCode::kUriTooLong);
  const std::string exact = "GET /" + std::string(19, 'a') + " HTTP/1.1\r\nHost: a.test\r\nA: ";
  const std::string fits = exact + std::string(200 - exact.size() - 4, 'a') + "\r\n\r\n";
  ASSERT_EQ(fits.size(), 200u);
  EXPECT_EQ(refusal(fits), ErrorCode::kNone);
}

}  // namespace
}  // namespace credbroker::wire
