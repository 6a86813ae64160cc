#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace credbroker::net {

// An IPv4 or IPv6 address as a value. No scope ids: a link-local target is never dialled.
class IpAddress {
 public:
  enum class Family : uint8_t { kV4, kV6 };

  IpAddress() = default;  // 0.0.0.0
  static IpAddress V4(uint32_t host_order);
  static IpAddress V6(const std::array<uint8_t, 16>& bytes) { return IpAddress(Family::kV6, bytes); }
  // Strict text forms: dotted quad without leading zeros, or RFC 4291 without brackets or scope. Fails kBadHost.
  static absl::StatusOr<IpAddress> Parse(std::string_view text);

  Family family() const { return family_; }
  bool is_v4() const { return family_ == Family::kV4; }
  uint32_t v4() const;  // host order; of an IPv4 address
  // Network order; an IPv4 address stands in the first 4 bytes.
  const std::array<uint8_t, 16>& bytes() const { return bytes_; }
  std::string Text() const;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  IpAddress(Family family, const std::array<uint8_t, 16>& bytes) : family_(family), bytes_(bytes) {}
  Family family_ = Family::kV4;
  std::array<uint8_t, 16> bytes_{};
};

// A block of addresses: `10.0.0.0/8`, `fd00::/8`; a bare address is a block of one.
class Cidr {
 public:
  // Bits behind the prefix must be zero. Fails kBadHost.
  static absl::StatusOr<Cidr> Parse(std::string_view text);
  // IPv4 addresses are in IPv4 blocks only.
  bool Contains(const IpAddress& address) const;
  bool single() const { return prefix_ == (base_.is_v4() ? 32 : 128); }
  std::string Text() const;

 private:
  IpAddress base_;
  int prefix_ = 0;
};

// Where a socket is or goes: an address with a port, or a Unix socket's path.
struct Endpoint {
  IpAddress address;
  uint16_t port = 0;
  std::string unix_path;  // not empty: a Unix socket, the rest is unused

  bool is_unix() const { return !unix_path.empty(); }
  std::string Text() const;  // `192.0.2.1:443`, `[2001:db8::1]:443`, `unix:/run/x.sock`
};

}  // namespace credbroker::net
