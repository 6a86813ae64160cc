#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "base/file.h"

namespace credbroker::control {

// A Unix socket that everybody on the machine may connect to, and that tells who did: each connection is handed over
// with the peer's user id as the kernel knows it.
class LocalSocket {
 public:
  using OnConnection = std::function<void(base::Fd connection, uid_t uid)>;

  // Binds `path` (replacing what a dead process left there), mode 0666, and accepts on a thread of its own. Fails
  // kPortInUse, kFileUnwritable, kBadArgument for a path over 107 bytes.
  static absl::StatusOr<std::unique_ptr<LocalSocket>> Listen(const std::string& path, OnConnection on_connection);
  // Stops accepting and removes the socket.
  ~LocalSocket();
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;

 private:
  LocalSocket(std::string path, base::Fd listener, base::Fd wake, OnConnection on_connection);
  void Run();
  void AcceptOne();

  const std::string path_;
  base::Fd listener_;
  base::Fd wake_;
  const OnConnection on_connection_;
  std::thread thread_;
};

}  // namespace credbroker::control
