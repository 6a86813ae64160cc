#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "net/ip.h"

namespace credbroker::net {

// What an address is. Everything but kPublic is refused unless a policy names it.
enum class AddressClass {
  kPublic,  // also the documentation blocks, which nothing routes
  kLoopback,
  kPrivate,  // RFC 1918, unique local, site-local, local-use NAT64
  kLinkLocal,
  kSharedNat,    // 100.64.0.0/10
  kMulticast,    // and broadcast
  kUnspecified,  // 0.0.0.0/8 and ::, which reach this machine
  kReserved,     // benchmarking, protocol assignments, Teredo, 240.0.0.0/4, and IPv6 outside 2000::/3
  kMetadata,     // a cloud's credential and instance data service
};
std::string_view AddressClassName(AddressClass address_class);

// Looks through IPv4-mapped, -compatible and -translated, 6to4 and NAT64 forms to the IPv4 address inside. Pure.
AddressClass Classify(const IpAddress& address);
// The IPv4 address inside such a form; any other address as it is.
IpAddress Unwrap(const IpAddress& address);

// The sockets on which this product listens, as they are really bound, and the machine's own addresses.
class OwnListeners {
 public:
  // `local` are the addresses of the machine's interfaces (os.h, LocalAddresses); loopback need not be in it.
  explicit OwnListeners(std::vector<IpAddress> local = {}) : local_(std::move(local)) {}
  void AddPort(uint16_t port) { ports_.insert(port); }
  // A listener's port at any address of this machine.
  bool Reaches(const IpAddress& address, uint16_t port) const;

 private:
  std::vector<IpAddress> local_;
  std::set<uint16_t> ports_;
};

// What one upstream may resolve to. Views: both must outlive the guard; `own` may be null.
struct AddressGuard {
  std::span<const Cidr> allowed;  // the service's `addresses`
  const OwnListeners* own = nullptr;
};

// OK, or kLoop for an own listener whatever is allowed, or kUpstreamAddressRefused. A metadata address passes only by
// a block of exactly that address. Of a form with an IPv4 address inside, that address is judged.
absl::Status CheckAddress(const IpAddress& address, uint16_t port, const AddressGuard& guard);

// One bad address refuses the whole answer (rebinding by a mixed answer). An empty answer is kUpstreamUnresolved.
absl::Status CheckAddresses(std::span<const IpAddress> addresses, uint16_t port, const AddressGuard& guard);

}  // namespace credbroker::net
