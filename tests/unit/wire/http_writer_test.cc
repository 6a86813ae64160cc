#include "wire/http_writer.h"

#include "kit/status_matchers.h"
#include "wire/http_head.h"

namespace credbroker::wire {
namespace {

using testing_kit::FailsWith;
using testing_kit::IsOk;

TEST(HttpWriterTest, WritesHeadsThatTheParserReads) {
  std::string out;
  AppendRequestLine("GET", "/a?b", &out);
  AppendHeader("host", "a.test", &out);
  AppendHeader("content-length", 12, &out);
  AppendHeadEnd(&out);
  EXPECT_EQ(out, "GET /a?b HTTP/1.1\r\nhost: a.test\r\ncontent-length: 12\r\n\r\n");
  RequestHead head;
  EXPECT_TRUE(ParseRequestHead(out, {}, &head).complete());
}

TEST(HttpWriterTest, WritesWholeResponses) {
  std::string out;
  AppendResponse(407, "text/plain", "no\n", Persist::kKeep, "proxy-authenticate: Basic realm=\"credbroker\"\r\n", &out);
  EXPECT_EQ(out,
            "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm=\"credbroker\"\r\n"
            "content-type: text/plain\r\ncontent-length: 3\r\n\r\nno\n");
  out.clear();
  AppendResponse(421, "", "", Persist::kClose, "", &out);
  EXPECT_EQ(out, "HTTP/1.1 421 Misdirected Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  ResponseHead head;
  EXPECT_TRUE(ParseResponseHead(out, "GET", {}, &head).complete());
}

TEST(HttpWriterTest, ForeignTextIsRefusedNotWritten) {
  std::string out;
  for (const char* value : {"a\r\nx: y", "a\nb", "a\rb", "\x01", "\xff"}) {
    EXPECT_THAT(AppendForeignHeader("a", value, &out), FailsWith(base::ErrorCode::kBadArgument)) << value;
  }
  for (const char* name : {"", "a b", "a:", "a\r\n"}) {
    EXPECT_THAT(AppendForeignHeader(name, "v", &out), FailsWith(base::ErrorCode::kBadArgument)) << name;
  }
  EXPECT_EQ(out, "");
  EXPECT_THAT(AppendForeignHeader("a", "b\tc", &out), IsOk());
  EXPECT_EQ(out, "a: b\tc\r\n");
}

TEST(HttpWriterDeathTest, OwnTextThatSplitsTheHeadEndsTheProcess) {
  std::string out;
  EXPECT_DEATH(AppendHeader("a", "b\r\nc: d", &out), "");
  EXPECT_DEATH(AppendRequestLine("GET", "/a b", &out), "");
}

}  // namespace
}  // namespace credbroker::wire
