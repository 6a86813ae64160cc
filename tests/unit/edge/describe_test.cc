#include "edge/describe.h"

#include "kit/status_matchers.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;

const std::vector<std::string> kOwnNames = {"localhost", "127.0.0.1", "::1"};

wire::RequestHead Parse(const std::string& text) {
  wire::RequestHead head;
  EXPECT_TRUE(wire::ParseRequestHead(text, {}, &head).complete()) << text;
  return head;
}

Door TunnelTo(const std::string& host, uint16_t port = 443, model::Scheme scheme = model::Scheme::kHttps) {
  Door door;
  door.kind = Door::Kind::kTunnel;
  door.target = {host, port, false};
  door.scheme = scheme;
  return door;
}

Door Gateway() {
  Door door;
  door.kind = Door::Kind::kGateway;
  door.gateway_names = &kOwnNames;
  return door;
}

// B1: CONNECT, Host and target name one authority.
TEST(DescribeTest, HostInsideATunnelMustBeTheConnectHost) {
  const struct { const char* head; ErrorCode code; } kCases[] = {
      {"GET /x HTTP/1.1\r\nHost: api.test\r\n\r\n", ErrorCode::kNone},
      {"GET /x HTTP/1.1\r\nHost: API.test.:443\r\n\r\n", ErrorCode::kNone},
      {"GET https://api.test/x HTTP/1.1\r\nHost: api.test\r\n\r\n", ErrorCode::kNone},
      {"GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n", ErrorCode::kMisdirected},
      {"GET /x HTTP/1.1\r\nHost: api.test:8443\r\n\r\n", ErrorCode::kMisdirected},
      {"GET https://evil.test/x HTTP/1.1\r\nHost: api.test\r\n\r\n", ErrorCode::kMisdirected},
      {"GET http://api.test/x HTTP/1.1\r\nHost: api.test\r\n\r\n", ErrorCode::kMisdirected},
      {"GET /a/../b HTTP/1.1\r\nHost: api.test\r\n\r\n", ErrorCode::kBadPath},
  };
  const Door door = TunnelTo("api.test");
  for (const auto& c : kCases) {
    const std::string text = c.head;
    EXPECT_EQ(base::CodeOf(Describe(Parse(text), door).status()), c.code) << c.head;
  }
}

// B33: the same facts by every way in.
TEST(DescribeTest, EveryDoorGivesTheSameFacts) {
  const std::string in_tunnel = "POST /x?a=1 HTTP/1.1\r\nHost: svc.test\r\nContent-Length: 0\r\n\r\n";
  const std::string by_gateway = "POST /svc.test/x?a=1 HTTP/1.1\r\nHost: 127.0.0.1:7481\r\nContent-Length: 0\r\n\r\n";
  const std::string as_host = "POST /x?a=1 HTTP/1.1\r\nHost: svc.test\r\nContent-Length: 0\r\n\r\n";
  ASSERT_OK_AND_ASSIGN(const Request tunnel, Describe(Parse(in_tunnel), TunnelTo("svc.test")));
  ASSERT_OK_AND_ASSIGN(const Request gateway, Describe(Parse(by_gateway), Gateway()));
  ASSERT_OK_AND_ASSIGN(const Request host, Describe(Parse(as_host), Gateway()));
  for (const Request* request : {&tunnel, &gateway, &host}) {
    EXPECT_EQ(request->facts.authority.Text(), "svc.test:443");
    EXPECT_EQ(request->facts.method, "POST");
    EXPECT_EQ(request->Resource(), "/x?a=1");
    EXPECT_THAT(request->query_names, testing::ElementsAre("a"));
  }
  const std::string absolute = "POST http://svc.test/x?a=1 HTTP/1.1\r\nHost: svc.test\r\nContent-Length: 0\r\n\r\n";
  ASSERT_OK_AND_ASSIGN(const Request plain, Describe(Parse(absolute), Door{}));
  EXPECT_EQ(plain.facts.authority.Text(), "svc.test:80");
  EXPECT_EQ(plain.facts.scheme, model::Scheme::kHttp);
}

TEST(DescribeTest, GatewayReadsGitPathsBehindTheHost) {
  const std::string text = "GET /git.test:8443/acme/web.git/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: localhost:7481\r\n\r\n";
  ASSERT_OK_AND_ASSIGN(const Request request, Describe(Parse(text), Gateway()));
  EXPECT_EQ(request.facts.authority.Text(), "git.test:8443");
  ASSERT_TRUE(request.facts.git.has_value());
  EXPECT_EQ(request.facts.git->repository, "acme/web");
}

TEST(DescribeTest, GatewayRefusesWhatNamesNoHost) {
  for (const char* text : {"GET / HTTP/1.1\r\nHost: 127.0.0.1:7481\r\n\r\n", "GET //x HTTP/1.1\r\nHost: 127.0.0.1:7481\r\n\r\n",
                           "GET /u@h/x HTTP/1.1\r\nHost: 127.0.0.1:7481\r\n\r\n"}) {
    const std::string head = text;
    EXPECT_THAT(Describe(Parse(head), Gateway()), FailsWith(ErrorCode::kBadHost)) << text;
  }
  Door tls = Gateway();
  tls.server_name = "a.test";
  const std::string other = "GET /x HTTP/1.1\r\nHost: b.test\r\n\r\n";
  EXPECT_THAT(Describe(Parse(other), tls), FailsWith(ErrorCode::kMisdirected));
}

TEST(DescribeTest, AWebSocketIsTheGetThatItIs) {
  const std::string rest = " HTTP/1.1\r\nHost: api.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  const std::string good = "GET /live?a=1" + rest;
  ASSERT_OK_AND_ASSIGN(const Request request, Describe(Parse(good), TunnelTo("api.test")));
  EXPECT_EQ(request.facts.method, "GET");
  EXPECT_EQ(request.Resource(), "/live?a=1");
  ASSERT_TRUE(request.websocket.has_value());
  EXPECT_EQ(request.websocket->key, "dGhlIHNhbXBsZSBub25jZQ==");
  const std::string plain = "GET /live HTTP/1.1\r\nHost: api.test\r\n\r\n";
  ASSERT_OK_AND_ASSIGN(const Request other, Describe(Parse(plain), TunnelTo("api.test")));
  EXPECT_FALSE(other.websocket.has_value());
  const std::string git = "GET /acme/web.git/info/refs?service=git-upload-pack" + rest;
  EXPECT_THAT(Describe(Parse(git), TunnelTo("api.test")), FailsWith(ErrorCode::kUpgradeNotSupported));
}

TEST(DescribeTest, OtherUpgradesAndNestedConnectAreRefused) {
  const std::string half = "GET /x HTTP/1.1\r\nHost: api.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
  EXPECT_THAT(Describe(Parse(half), TunnelTo("api.test")), FailsWith(ErrorCode::kBadHandshake));
  const std::string upgrade = "GET /x HTTP/1.1\r\nHost: api.test\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n";
  EXPECT_THAT(Describe(Parse(upgrade), TunnelTo("api.test")), FailsWith(ErrorCode::kUpgradeNotSupported));
  const std::string nested = "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n";
  EXPECT_THAT(Describe(Parse(nested), TunnelTo("a.test")), FailsWith(ErrorCode::kMethodNotSupported));
}

TEST(DescribeTest, ConnectNamesOneAuthority) {
  const std::string good = "CONNECT API.test.:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n";
  ASSERT_OK_AND_ASSIGN(const model::Facts facts, DescribeConnect(Parse(good), kOwnNames));
  EXPECT_EQ(facts.authority.Text(), "api.test:443");
  const std::string old = "CONNECT api.test:443 HTTP/1.0\r\n\r\n";  // pip and urllib
  ASSERT_OK_AND_ASSIGN(const model::Facts from_old, DescribeConnect(Parse(old), kOwnNames));
  EXPECT_EQ(from_old.authority.Text(), "api.test:443");
  const std::string node = "CONNECT api.test:443 HTTP/1.1\r\nHost: 127.0.0.1:7480\r\n\r\n";
  ASSERT_OK_AND_ASSIGN(const model::Facts from_node, DescribeConnect(Parse(node), kOwnNames));
  EXPECT_EQ(from_node.authority.Text(), "api.test:443");
  const std::string differs = "CONNECT api.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n";
  EXPECT_THAT(DescribeConnect(Parse(differs), kOwnNames), FailsWith(ErrorCode::kMisdirected));
}

}  // namespace
}  // namespace credbroker::edge
