#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <vector>

#include "app/health_pages.h"
#include "app/health_server.h"
#include "kit/status_matchers.h"

namespace credbroker::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class HealthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "app-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    ASSERT_OK_AND_ASSIGN(core_, control::Core::Open({.data_dir = folder_ + "/data"}, clock_));
  }
  void TearDown() override {
    core_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  base::FakeClock clock_;
  std::unique_ptr<control::Core> core_;
};

base::Fd Connect(uint16_t port) {
  base::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// What the server answers to these bytes, until it closes.
std::string Ask(uint16_t port, std::string_view bytes) {
  const base::Fd fd = Connect(port);
  EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  std::string reply;
  char buffer[4096];
  for (ssize_t count; (count = read(fd.get(), buffer, sizeof buffer)) > 0;)
    reply.append(buffer, static_cast<std::size_t>(count));
  return reply;
}

TEST_F(HealthTest, PagesTellHealthAndReadiness) {
  const HealthPages alone(*core_, HealthPages::WantsEdge::kNo);
  const HealthPages with_edge(*core_, HealthPages::WantsEdge::kYes);
  EXPECT_EQ(alone.Get("/healthz").status, 200);
  EXPECT_EQ(alone.Get("/readyz").status, 200);
  EXPECT_EQ(with_edge.Get("/healthz").status, 200);
  EXPECT_EQ(with_edge.Get("/readyz").status, 503);
  EXPECT_THAT(with_edge.Get("/readyz").body, HasSubstr("edge"));
  EXPECT_EQ(alone.Get("/secrets").status, 404);
}

TEST_F(HealthTest, MetricsAreInTheTextFormat) {
  core_->metrics().CountError(base::ErrorCode::kNoRule);
  const std::string text = HealthPages(*core_, HealthPages::WantsEdge::kNo).Get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("# TYPE credbroker_tokens_issued_total counter\ncredbroker_tokens_issued_total 0\n"));
  EXPECT_THAT(text, HasSubstr("credbroker_sessions_open 0\n"));
  EXPECT_THAT(text, HasSubstr("credbroker_grpc_errors_total{code=\"2103\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("credbroker_ledger_writable 1\n"));
}

TEST_F(HealthTest, ServesBoundedRequests) {
  const HealthPages pages(*core_, HealthPages::WantsEdge::kNo);
  ASSERT_OK_AND_ASSIGN(const auto server,
                       HealthServer::Start({"127.0.0.1", 0}, [&](std::string_view path) { return pages.Get(path); }));
  const uint16_t port = server->port();
  EXPECT_THAT(Ask(port, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Ask(port, "GET /healthz?x=1 HTTP/1.1\r\n\r\n"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_THAT(Ask(port, "POST /healthz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask(port, "HEAD /metrics HTTP/1.1\r\n\r\n"), testing::EndsWith("\r\n\r\n"));
  EXPECT_EQ(Ask(port, "nonsense\r\n\r\n"), "");
  const auto padded = [](std::size_t size) { return "GET /healthz HTTP/1.1\r\nX: " + std::string(size - 30, 'x') + "\r\n\r\n"; };
  EXPECT_THAT(Ask(port, padded(4096)), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(Ask(port, padded(4097)), "");
  EXPECT_THAT(Ask(port, "GET /healthz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n")) << "and goes on serving";
}

TEST_F(HealthTest, SilentConnectionsKeepNobodyWaiting) {
  ASSERT_OK_AND_ASSIGN(const auto server, HealthServer::Start({"127.0.0.1", 0}, [](std::string_view) { return Page{}; }));
  const auto began = std::chrono::steady_clock::now();
  std::vector<base::Fd> silent;
  for (int i = 0; i < 100; ++i) {  // more than it keeps
    silent.push_back(Connect(server->port()));
    EXPECT_EQ(send(silent.back().get(), "GET", 3, MSG_NOSIGNAL), 3);
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Ask(server->port(), "GET /healthz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));  // one after another: 200 s
  char byte;
  EXPECT_EQ(read(silent.front().get(), &byte, 1), 0) << "the oldest gave way";
}

}  // namespace
}  // namespace credbroker::app
