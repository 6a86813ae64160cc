#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "app/health_pages.h"
#include "app/listen_address.h"
#include "base/file.h"

namespace credbroker::app {

// A very small HTTP/1.1 server for probes: GET and HEAD, one request a connection. Bounds: a head of 4 KiB, 2 s for
// a request and its answer, 64 connections (the oldest gives way): a silent one keeps nobody waiting.
class HealthServer {
 public:
  using Pages = std::function<Page(std::string_view path)>;

  // Fails as Listen.
  static absl::StatusOr<std::unique_ptr<HealthServer>> Start(const ListenAddress& address, Pages pages);
  ~HealthServer();
  HealthServer(const HealthServer&) = delete;
  HealthServer& operator=(const HealthServer&) = delete;

  const std::string& url() const { return url_; }  // http://127.0.0.1:7490
  uint16_t port() const { return port_; }

 private:
  HealthServer(const ListenAddress& bound, base::Fd listener, base::Fd wake, Pages pages);
  struct Visitor;
  void Run();
  bool Step(Visitor& visitor);
  std::string Answer(std::string_view head) const;

  base::Fd listener_;
  base::Fd wake_;
  const Pages pages_;
  const std::string url_;
  const uint16_t port_;
  std::thread thread_;
};

}  // namespace credbroker::app
