#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "control/core.h"

namespace credbroker::control {

struct ServerOptions {
  std::string api_address = "127.0.0.1:7443";  // host:port of the TLS listener; port 0 = any
};

// The doors of the API, one gRPC server each, so that a door alone tells what a connection proves:
//   DIR/run/api.sock  a server for our own user, one for root (both: every role), one for all other users (nothing)
//   TCP with TLS      bearer tokens of accesses; certificate from the API's own CA
//   edge              socket pairs to edges that we started
// Each has a bounded number of threads. Thread-safe.
class Servers {
 public:
  // Opens all doors; at the first start of an installation also writes DIR/admin/admin.access (0600), the only copy of
  // the admin access's bearer token. Fails kPortInUse, kBadHost, kFileUnwritable. `core` outlives it.
  static absl::StatusOr<std::unique_ptr<Servers>> Start(Core& core, const ServerOptions& options);
  ~Servers();
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  const std::string& api_url() const { return api_url_; }        // https://127.0.0.1:7443
  const std::string& socket_address() const { return socket_; }  // unix:DIR/run/api.sock

  // Our end of a socket pair whose other end the edge named `edge` holds. Only that process may call on it.
  absl::Status AdoptEdge(base::Fd connection);

  // Refuses new calls, lets running ones end for `grace`, then cuts them. Idempotent.
  void Shutdown(absl::Duration grace);

 private:
  class Impl;
  explicit Servers(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
  std::string api_url_;
  std::string socket_;
};

// The name of the edge that the broker starts itself.
inline constexpr std::string_view kChildEdge = "edge";

}  // namespace credbroker::control
