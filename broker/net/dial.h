#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/task.h"
#include "net/address_guard.h"
#include "net/resolver.h"
#include "net/stream.h"

namespace credbroker::net {

// No aggregate on purpose: g++ 12 copies an aggregate that is built inside a co_await expression byte by byte, and then
// frees its strings twice.
struct DialTarget {
  DialTarget(std::string host_name, uint16_t port_number) : host(std::move(host_name)), port(port_number) {}
  std::string host;  // canonical name, or IP literal without brackets
  uint16_t port;
};

// Resolves once, judges all addresses, connects to the judged ones in turn (at most 8; each attempt gets its share of
// the time that is left). Plain TCP: call StartTlsClient on the result. What `guard` views, the loop and the resolver
// must outlive the await. Fails kUpstreamUnresolved, kUpstreamAddressRefused, kLoop, kUpstreamUnreachable,
// kUpstreamTimeout.
base::Task<absl::StatusOr<std::unique_ptr<Stream>>> Dial(Loop& loop, Resolver& resolver, DialTarget target,
                                                         AddressGuard guard, Deadline deadline);

// Connects to a Unix socket. Fails kUpstreamUnreachable, kUpstreamTimeout.
base::Task<absl::StatusOr<std::unique_ptr<Stream>>> DialUnix(Loop& loop, std::string path, Deadline deadline);

}  // namespace credbroker::net
