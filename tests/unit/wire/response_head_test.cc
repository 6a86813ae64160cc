#include <string>
#include <vector>

#include "base/str.h"
#include "cuts.h"
#include "kit/status_matchers.h"
#include "wire/http_head.h"

namespace credbroker::wire {
namespace {

ParseResult Parse(const std::string& bytes, std::string_view method, ResponseHead* out) {
  const auto parse = [&](std::string_view part) { return ParseResponseHead(part, method, {}, out); };
  const ParseResult result = ParseAtEveryCut(bytes, parse);
  return parse(bytes).step == result.step ? result : ParseResult::Fail(base::ErrorCode::kInternal);
}

TEST(ResponseHeadTest, ReadsStatusReasonAndFields) {
  ResponseHead head;
  const std::string bytes = "HTTP/1.1 404 Not \xc3\xa4 Found\r\nServer: caf\xe9\r\nContent-Length: 7\r\n\r\nmissing";
  const ParseResult result = Parse(bytes, "GET", &head);
  ASSERT_TRUE(result.complete());
  EXPECT_EQ(bytes.substr(result.consumed), "missing");
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.reason, "Not \xc3\xa4 Found");
  EXPECT_EQ(head.content_length, 7u);
  EXPECT_EQ(head.FindHeader("server"), "caf\xe9");
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.interim());
}

TEST(ResponseHeadTest, DecidesAboutTheBody) {
  struct Case {
    std::string method, head;
    Framing framing;
    bool keep;
  };
  const std::vector<Case> cases = {
      {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", Framing::kLength, true},
      {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n", Framing::kLength, true},
      {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n", Framing::kChunked, true},
      {"GET", "HTTP/1.1 200 OK\r\n", Framing::kUntilClose, false},
      {"GET", "HTTP/1.1 200 \r\n", Framing::kUntilClose, false},
      {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n", Framing::kLength, false},
      {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n", Framing::kLength, true},
      {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n", Framing::kLength, false},
      {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", Framing::kNone, true},
      {"HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", Framing::kNone, true},
      {"GET", "HTTP/1.1 204 No Content\r\n", Framing::kNone, true},
      {"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n", Framing::kNone, true},
      {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n", Framing::kNone, true},
      {"GET", "HTTP/1.1 100 Continue\r\n", Framing::kNone, true},
      {"CONNECT", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", Framing::kNone, true},
      {"CONNECT", "HTTP/1.1 407 No\r\nContent-Length: 5\r\n", Framing::kLength, true}};
  for (const Case& c : cases) {
    ResponseHead head;
    ASSERT_TRUE(Parse(c.head + "\r\n", c.method, &head).complete()) << c.head;
    EXPECT_EQ(head.framing, c.framing) << c.head;
    EXPECT_EQ(head.keep_alive, c.keep) << c.head;
  }
}

TEST(ResponseHeadTest, AChunked204HasNoBodyAndEndsItsConnection) {  // B43
  ResponseHead head;
  ASSERT_TRUE(Parse("HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", &head).complete());
  EXPECT_EQ(head.framing, Framing::kNone);
  EXPECT_FALSE(head.keep_alive);
}

TEST(ResponseHeadTest, RefusesWhatTwoReadersCouldReadInTwoWays) {
  const std::vector<std::string> cases = {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunkedchunked\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                                          "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                                          "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n",
                                          "HTTP/1.1 100 Go\r\nContent-Length: 5\r\n\r\n",
                                          "HTTP/1.1 100 Go\r\nTransfer-Encoding: chunked\r\n\r\n",
                                          "HTTP/1.1 204 No\r\nTransfer-Encoding: gzip\r\n\r\n",
                                          "HTTP/1.1 200\r\n\r\n",
                                          "HTTP/1.1  200 OK\r\n\r\n",
                                          "HTTP/1.1 20 OK\r\n\r\n",
                                          "HTTP/1.1 2000 OK\r\n\r\n",
                                          "HTTP/1.1 099 OK\r\n\r\n",
                                          "HTTP/1.1 600 OK\r\n\r\n",
                                          "HTTP/2 200 OK\r\n\r\n",
                                          "HTTP/1.2 200 OK\r\n\r\n",
                                          "http/1.1 200 OK\r\n\r\n",
                                          "ICY 200 OK\r\n\r\n",
                                          "\r\nHTTP/1.1 200 OK\r\n\r\n",
                                          "HTTP/1.1 200 OK\n\n",
                                          "HTTP/1.1 200 OK\r\nA: b\n\r\n",
                                          "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
                                          std::string("HTTP/1.1 200 O\0K\r\n\r\n", 20),
                                          std::string("HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", 25),
                                          "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
                                          "<html>",
                                          "SSH-2.0-x\r\n"};
  for (const std::string& bytes : cases) {
    ResponseHead head;
    const ParseResult result = Parse(bytes, "GET", &head);
    EXPECT_EQ(result.error, base::ErrorCode::kUpstreamMalformed) << bytes;
  }
}

TEST(ResponseHeadTest, TellsInterimAnswersApart) {
  ResponseHead head;
  ASSERT_TRUE(Parse("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", "GET", &head).complete());
  EXPECT_TRUE(head.interim());
  ASSERT_TRUE(
      Parse("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "GET", &head).complete());
  EXPECT_FALSE(head.interim());
}

}  // namespace
}  // namespace credbroker::wire
