#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "net/ip.h"

namespace credbroker::net {

// Between the kernel's socket addresses and ours. Private to the room.
inline socklen_t ToSockaddr(const IpAddress& address, uint16_t port, sockaddr_storage* out) {
  std::memset(out, 0, sizeof *out);
  if (address.is_v4()) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(out);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    v4->sin_addr.s_addr = htonl(address.v4());
    return sizeof *v4;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(out);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  std::memcpy(&v6->sin6_addr, address.bytes().data(), 16);
  return sizeof *v6;
}

// Families other than IPv4 and IPv6 give 0.0.0.0:0.
inline Endpoint FromSockaddr(const sockaddr* from) {
  if (from->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(from);
    return {IpAddress::V4(ntohl(v4->sin_addr.s_addr)), ntohs(v4->sin_port), {}};
  }
  if (from->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(from);
    std::array<uint8_t, 16> bytes;
    std::memcpy(bytes.data(), &v6->sin6_addr, 16);
    return {IpAddress::V6(bytes), ntohs(v6->sin6_port), {}};
  }
  return {};
}

// False when the path does not fit.
inline bool ToSockaddrUnix(const std::string& path, sockaddr_un* out) {
  std::memset(out, 0, sizeof *out);
  out->sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof out->sun_path) return false;
  std::memcpy(out->sun_path, path.data(), path.size());
  return true;
}

}  // namespace credbroker::net
