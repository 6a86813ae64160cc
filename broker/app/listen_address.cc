#include "app/listen_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "model/authority.h"

namespace credbroker::app {
namespace {

using base::ErrorCode;

constexpr int kBacklog = 64;

absl::Status Bad(std::string_view text) {
  return base::Error(
      ErrorCode::kConfigInvalid,
      base::StrCat("an address to listen on is HOST:PORT with an IP address: ", base::EscapeText(text, 80)));
}

}  // namespace

std::string ListenAddress::Text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return base::StrCat(v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
}

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  ListenAddress address;
  if (colon == std::string_view::npos || !base::ParseInt(text.substr(colon + 1), &address.port)) return Bad(text);
  const std::string_view name = text.substr(0, colon);
  const bool bare_v6 = name.find(':') != std::string_view::npos && !name.starts_with('[');
  const absl::StatusOr<model::Authority> host = model::ParseHost(name);
  if (bare_v6 || !host.ok() || (!host->is_ip && host->host != "localhost")) return Bad(text);
  address.host = host->is_ip ? host->host : "127.0.0.1";
  return address;
}

absl::StatusOr<base::Fd> Listen(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), base::StrCat(address.port).c_str(), &hints, &found) != 0)
    return Bad(address.Text());
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  base::Fd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!fd.ok() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
    return base::WriteError("socket", errno);
  if (bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) return base::Error(ErrorCode::kPortInUse, address.Text());
    return base::Error(ErrorCode::kConfigInvalid, base::StrCat(address.Text(), ": ", std::strerror(errno)));
  }
  return fd;
}

uint16_t PortOf(const base::Fd& listener) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

}  // namespace credbroker::app
