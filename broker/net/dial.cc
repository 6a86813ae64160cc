#include "net/dial.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "net/socket_address.h"

namespace credbroker::net {
namespace {

constexpr std::size_t kMaxAttempts = 8;
constexpr int64_t kLeastAttemptNs = 1'000'000'000;

using Dialled = absl::StatusOr<std::unique_ptr<Stream>>;

// Begins a connect; null when the system refuses at once.
std::unique_ptr<Stream> BeginConnect(Loop& loop, int family, const sockaddr* address, socklen_t size, Endpoint peer) {
  base::Fd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.ok()) return nullptr;
  if (connect(fd.get(), address, size) != 0 && errno != EINPROGRESS) return nullptr;
  return std::make_unique<Stream>(loop, std::move(fd), std::move(peer), Stream::Phase::kConnecting);
}

// So that one address that swallows packets does not use up the time of the others.
Deadline AttemptDeadline(const Loop& loop, Deadline deadline, std::size_t attempts_left) {
  if (deadline.never() || attempts_left <= 1) return deadline;
  const int64_t left = deadline.nanoseconds() - loop.now_ns();
  const int64_t share = std::max(kLeastAttemptNs, left / static_cast<int64_t>(attempts_left));
  return std::min(deadline, Deadline::AtNanoseconds(loop.now_ns() + share));
}

absl::Status DialError(Io last, const Loop& loop, Deadline deadline, const std::string& what) {
  const bool timed_out = last == Io::kTimeout || loop.now_ns() >= deadline.nanoseconds();
  const auto code = timed_out ? base::ErrorCode::kUpstreamTimeout : base::ErrorCode::kUpstreamUnreachable;
  return base::Error(code, base::StrCat("connecting to ", what));
}

base::Task<absl::StatusOr<std::vector<IpAddress>>> Addresses(Resolver& resolver, const std::string& host,
                                                             Deadline deadline) {
  const auto literal = IpAddress::Parse(host);
  if (literal.ok()) co_return std::vector<IpAddress>{*literal};
  auto resolved = co_await resolver.Resolve(host, deadline);
  co_return resolved;
}

}  // namespace

base::Task<Dialled> Dial(Loop& loop, Resolver& resolver, DialTarget target, AddressGuard guard, Deadline deadline) {
  auto addresses = co_await Addresses(resolver, target.host, deadline);
  CO_RETURN_IF_ERROR(addresses.status(), base::StrCat("resolving ", target.host));
  CO_RETURN_IF_ERROR(CheckAddresses(*addresses, target.port, guard), base::StrCat("dialling ", target.host));
  const std::size_t count = std::min(addresses->size(), kMaxAttempts);
  Io last = Io::kReset;
  for (std::size_t i = 0; i < count; ++i) {
    const IpAddress& address = (*addresses)[i];
    sockaddr_storage storage;
    const socklen_t size = ToSockaddr(address, target.port, &storage);
    auto stream = BeginConnect(loop, storage.ss_family, reinterpret_cast<const sockaddr*>(&storage), size,
                               {address, target.port, {}});
    if (stream == nullptr) continue;
    last = co_await stream->Connected(AttemptDeadline(loop, deadline, count - i));
    if (last == Io::kOk) co_return stream;
  }
  co_return DialError(last, loop, deadline, base::StrCat(target.host, " port ", target.port));
}

base::Task<Dialled> DialUnix(Loop& loop, std::string path, Deadline deadline) {
  sockaddr_un address;
  Endpoint peer;
  peer.unix_path = path;
  const std::string text = peer.Text();
  if (!ToSockaddrUnix(path, &address)) co_return DialError(Io::kReset, loop, Deadline::Never(), text);
  auto stream = BeginConnect(loop, AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, peer);
  if (stream == nullptr) co_return DialError(Io::kReset, loop, Deadline::Never(), text);
  const Io io = co_await stream->Connected(deadline);
  if (io == Io::kOk) co_return stream;
  co_return DialError(io, loop, deadline, text);
}

}  // namespace credbroker::net
