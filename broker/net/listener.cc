#include "net/listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "net/socket_address.h"

namespace credbroker::net {
namespace {

constexpr int kBacklog = 1024;
constexpr int kAcceptsPerEvent = 64;  // then the loop's other connections have their turn
constexpr absl::Duration kPause = absl::Seconds(1);

absl::Status ListenError(const Endpoint& endpoint, std::string_view step) {
  const int error = errno;
  return base::Error(error == EADDRINUSE ? base::ErrorCode::kPortInUse : base::ErrorCode::kConfigInvalid,
                     base::StrCat(endpoint.Text(), ": ", step, ": ", std::strerror(error)));
}

base::Fd NewSocket(int family) { return base::Fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

// Whether a process serves the socket file.
bool IsServed(const sockaddr_un& address) {
  const base::Fd probe = NewSocket(AF_UNIX);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return probe.ok() && (connect(probe.get(), generic, sizeof address) == 0 || errno != ECONNREFUSED);
}

// Removes a socket file that a dead process left.
absl::Status ClearStale(const Endpoint& endpoint, const sockaddr_un& address) {
  struct stat info;
  if (lstat(endpoint.unix_path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return base::Error(base::ErrorCode::kPortInUse, base::StrCat(endpoint.Text(), " exists and is no socket"));
  }
  if (IsServed(address)) return base::Error(base::ErrorCode::kPortInUse, base::StrCat(endpoint.Text(), " is served"));
  unlink(endpoint.unix_path.c_str());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Tcp(Loop& loop, std::string_view host, uint16_t port,
                                                        Sharing sharing, OnAccept on_accept) {
  auto address = IpAddress::Parse(host);
  if (!address.ok()) {
    return base::Error(base::ErrorCode::kConfigInvalid, base::StrCat("a listener needs an IP address, not ", host));
  }
  Endpoint endpoint{*address, port, {}};
  base::Fd fd = NewSocket(address->is_v4() ? AF_INET : AF_INET6);
  if (!fd.ok()) return ListenError(endpoint, "socket");
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (sharing == Sharing::kShared) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (!address->is_v4()) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  sockaddr_storage storage;
  socklen_t size = ToSockaddr(*address, port, &storage);
  auto* const generic = reinterpret_cast<sockaddr*>(&storage);
  if (bind(fd.get(), generic, size) != 0) return ListenError(endpoint, "bind");
  if (listen(fd.get(), kBacklog) != 0) return ListenError(endpoint, "listen");
  size = sizeof storage;
  if (getsockname(fd.get(), generic, &size) != 0) return ListenError(endpoint, "getsockname");
  endpoint = FromSockaddr(generic);
  return std::unique_ptr<Listener>(new Listener(loop, std::move(fd), std::move(endpoint), std::move(on_accept)));
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Unix(Loop& loop, const std::string& path, mode_t mode,
                                                         OnAccept on_accept) {
  Endpoint endpoint;
  endpoint.unix_path = path;
  sockaddr_un address;
  if (!ToSockaddrUnix(path, &address)) {
    return base::Error(base::ErrorCode::kConfigInvalid, base::StrCat("the socket's path is too long: ", path));
  }
  RETURN_IF_ERROR(ClearStale(endpoint, address));
  base::Fd fd = NewSocket(AF_UNIX);
  if (!fd.ok()) return ListenError(endpoint, "socket");
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ListenError(endpoint, "bind");
  }
  // Before listen: until then nobody can connect, whatever mode the umask gave.
  if (chmod(path.c_str(), mode) != 0) return ListenError(endpoint, "chmod");
  if (listen(fd.get(), kBacklog) != 0) return ListenError(endpoint, "listen");
  return std::unique_ptr<Listener>(new Listener(loop, std::move(fd), std::move(endpoint), std::move(on_accept)));
}

Listener::Listener(Loop& loop, base::Fd fd, Endpoint endpoint, OnAccept on_accept)
    : loop_(loop),
      fd_(std::move(fd)),
      endpoint_(std::move(endpoint)),
      on_accept_(std::move(on_accept)),
      resume_(loop, [this] { loop_.Modify(fd_.get(), this, Loop::Trigger::kLevelRead); }) {
  loop_.Register(fd_.get(), this, Loop::Trigger::kLevelRead);
}

Listener::~Listener() {
  if (destroyed_ != nullptr) *destroyed_ = true;
  loop_.Unregister(fd_.get(), this);
  if (endpoint_.is_unix()) unlink(endpoint_.unix_path.c_str());
}

void Listener::OnEvents(uint32_t) {
  const OnAccept on_accept = on_accept_;  // it may destroy this listener
  for (int i = 0; i < kAcceptsPerEvent; ++i) {
    sockaddr_storage storage;
    socklen_t size = sizeof storage;
    auto* const generic = reinterpret_cast<sockaddr*>(&storage);
    Accepted accepted;
    accepted.fd = base::Fd(accept4(fd_.get(), generic, &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!accepted.fd.ok()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) Pause();
      return;
    }
    if (endpoint_.is_unix()) {
      accepted.peer.unix_path = endpoint_.unix_path;
      ucred credentials{};
      socklen_t length = sizeof credentials;
      if (getsockopt(accepted.fd.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0) {
        accepted.peer_uid = credentials.uid;
        accepted.peer_pid = credentials.pid;
      }
    } else {
      accepted.peer = FromSockaddr(generic);
    }
    bool destroyed = false;
    destroyed_ = &destroyed;
    on_accept(std::move(accepted));
    if (destroyed) return;
    destroyed_ = nullptr;
  }
}

// Out of descriptors the backlog stays readable: without a pause the loop would spin on it.
void Listener::Pause() {
  loop_.Modify(fd_.get(), this, Loop::Trigger::kNone);
  resume_.Arm(loop_.After(kPause));
}

}  // namespace credbroker::net
