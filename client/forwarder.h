#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace credbroker::client {

// Carries TCP connections of a sandbox to its session's Unix socket, for tools that take a proxy's address only. Bytes pass
// unread; both ends may close their direction first. Runs on a thread of its own until it is destroyed.
class Forwarder {
 public:
  static constexpr int kMaxConnections = 1024;  // as many as the socket takes; more are closed

  // `listen` is ADDRESS:PORT, a loopback address; port 0 takes a free one. Fails kBadArgument, kPortInUse, and
  // kUpstreamUnreachable when nobody serves `socket` now.
  static absl::StatusOr<std::unique_ptr<Forwarder>> Start(const std::string& listen, const std::string& socket);
  virtual ~Forwarder() = default;

  virtual const std::string& address() const = 0;  // where it listens

 protected:
  Forwarder() = default;
};

}  // namespace credbroker::client
