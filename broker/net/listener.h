#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "net/ip.h"
#include "net/loop.h"

namespace credbroker::net {

struct Accepted {
  base::Fd fd;  // non-blocking
  Endpoint peer;
  // Of a Unix socket, as the kernel says (SO_PEERCRED); -1 elsewhere.
  uid_t peer_uid = static_cast<uid_t>(-1);
  pid_t peer_pid = -1;
};

// A listening socket of one loop. Each connection goes to the callback, which decides about limits (dropping
// `Accepted` closes it). Out of descriptors or memory it pauses for a second instead of spinning.
class Listener final : private EventHandler {
 public:
  using OnAccept = std::function<void(Accepted)>;

  // `host` is an IP literal; port 0 takes a free one. `kShared` lets each loop bind its own socket to the same port
  // (SO_REUSEPORT). Fails kPortInUse, kConfigInvalid for a bad host.
  enum class Sharing { kAlone, kShared };
  static absl::StatusOr<std::unique_ptr<Listener>> Tcp(Loop& loop, std::string_view host, uint16_t port,
                                                       Sharing sharing, OnAccept on_accept);
  // Replaces a socket file that nobody serves; the mode holds under any umask. Fails kPortInUse when it is served or
  // is no socket, kConfigInvalid when the path is too long.
  static absl::StatusOr<std::unique_ptr<Listener>> Unix(Loop& loop, const std::string& path, mode_t mode,
                                                        OnAccept on_accept);
  // Closes the socket and removes its file.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }
  uint16_t port() const { return endpoint_.port; }

 private:
  Listener(Loop& loop, base::Fd fd, Endpoint endpoint, OnAccept on_accept);
  void OnEvents(uint32_t events) override;
  void Pause();

  Loop& loop_;
  base::Fd fd_;
  Endpoint endpoint_;
  OnAccept on_accept_;
  bool* destroyed_ = nullptr;  // of the running callback
  Timer resume_;
};

}  // namespace credbroker::net
