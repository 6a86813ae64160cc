#include "net/os.h"

#include <ifaddrs.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/str.h"
#include "net/socket_address.h"

namespace credbroker::net {

absl::StatusOr<uint64_t> RaiseFileLimit(uint64_t wanted) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return base::Error(base::ErrorCode::kConfigInvalid, base::StrCat("reading RLIMIT_NOFILE: ", std::strerror(errno)));
  }
  const rlim_t target = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, wanted));
  if (target == limit.rlim_cur) return target;
  limit.rlim_cur = target;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return base::Error(base::ErrorCode::kConfigInvalid, base::StrCat("raising RLIMIT_NOFILE: ", std::strerror(errno)));
  }
  return target;
}

void IgnoreSigpipe() { std::signal(SIGPIPE, SIG_IGN); }

std::vector<IpAddress> LocalAddresses() {
  std::vector<IpAddress> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6) continue;
    addresses.push_back(FromSockaddr(entry->ifa_addr).address);
  }
  freeifaddrs(list);
  return addresses;
}

std::string LocalAddressOf(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return {};
  return FromSockaddr(reinterpret_cast<const sockaddr*>(&storage)).address.Text();
}

}  // namespace credbroker::net
