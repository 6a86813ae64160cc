#include "control/local_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/str.h"
#include "control/event_log.h"

namespace credbroker::control {
namespace {

constexpr int kBacklog = 128;
constexpr int kShortOfFilesPauseMs = 100;

}  // namespace

absl::StatusOr<std::unique_ptr<LocalSocket>> LocalSocket::Listen(const std::string& path, OnConnection on_connection) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) {
    return base::Error(base::ErrorCode::kBadArgument, "the socket's path is too long; choose a shorter data folder");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  base::Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  base::Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listener.ok() || !wake.ok()) return base::WriteError("socket", errno);
  // The data folder is locked, so a socket that is there belongs to nobody.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return base::WriteError(path, errno);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return base::WriteError(path, errno);
  }
  // Everybody may connect: what a caller may do depends on who it is, not on reaching the socket.
  if (chmod(path.c_str(), 0666) != 0 || listen(listener.get(), kBacklog) != 0) return base::WriteError(path, errno);
  return std::unique_ptr<LocalSocket>(
      new LocalSocket(path, std::move(listener), std::move(wake), std::move(on_connection)));
}

LocalSocket::LocalSocket(std::string path, base::Fd listener, base::Fd wake, OnConnection on_connection)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      on_connection_(std::move(on_connection)),
      thread_([this] { Run(); }) {}

LocalSocket::~LocalSocket() {
  const uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof one) != sizeof one) LogEvent(Level::kError, "wake_failed");
  thread_.join();
  unlink(path_.c_str());
}

void LocalSocket::Run() {
  while (true) {
    pollfd waits[] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    if (waits[0].revents != 0) AcceptOne();
  }
}

void LocalSocket::AcceptOne() {
  base::Fd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.ok()) {
    if (errno != EMFILE && errno != ENFILE) return;
    // The connection stays in the queue: wait a little instead of spinning on it.
    pollfd wait{wake_.get(), POLLIN, 0};
    poll(&wait, 1, kShortOfFilesPauseMs);
    return;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer) return;
  on_connection_(std::move(connection), peer.uid);
}

}  // namespace credbroker::control
