#include "net/address_guard.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::net {
namespace {

struct V4Block {
  uint32_t base;
  int prefix;
  AddressClass address_class;
};

constexpr uint32_t Quad(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return a << 24 | b << 16 | c << 8 | d; }

// The first match counts. Sources: the IANA special-purpose registry, and the documentation of the clouds.
constexpr V4Block kV4Blocks[] = {
    {Quad(169, 254, 169, 254), 32, AddressClass::kMetadata},  // nearly all clouds
    {Quad(169, 254, 170, 0), 24, AddressClass::kMetadata},    // container credentials
    {Quad(169, 254, 169, 253), 32, AddressClass::kMetadata},  // a cloud's own resolver
    {Quad(100, 100, 100, 200), 32, AddressClass::kMetadata},  // in the shared block
    {Quad(168, 63, 129, 16), 32, AddressClass::kMetadata},    // looks public, is the host's wire server
    {Quad(192, 0, 0, 192), 32, AddressClass::kMetadata},      // in the protocol assignments
    {Quad(0, 0, 0, 0), 8, AddressClass::kUnspecified},       {Quad(10, 0, 0, 0), 8, AddressClass::kPrivate},
    {Quad(100, 64, 0, 0), 10, AddressClass::kSharedNat},     {Quad(127, 0, 0, 0), 8, AddressClass::kLoopback},
    {Quad(169, 254, 0, 0), 16, AddressClass::kLinkLocal},    {Quad(172, 16, 0, 0), 12, AddressClass::kPrivate},
    {Quad(192, 0, 0, 0), 24, AddressClass::kReserved},       {Quad(192, 88, 99, 0), 24, AddressClass::kReserved},
    {Quad(192, 168, 0, 0), 16, AddressClass::kPrivate},      {Quad(198, 18, 0, 0), 15, AddressClass::kReserved},
    {Quad(224, 0, 0, 0), 4, AddressClass::kMulticast},       {Quad(255, 255, 255, 255), 32, AddressClass::kMulticast},
    {Quad(240, 0, 0, 0), 4, AddressClass::kReserved},
};

AddressClass ClassifyV4(uint32_t address) {
  for (const V4Block& block : kV4Blocks) {
    const uint32_t mask = ~uint32_t{0} << (32 - block.prefix);
    if ((address & mask) == block.base) return block.address_class;
  }
  return AddressClass::kPublic;
}

using Bytes = std::array<uint8_t, 16>;

bool StartsWith(const Bytes& bytes, std::initializer_list<int> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

uint32_t QuadAt(const Bytes& bytes, std::size_t at) {
  return Quad(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
}

// The forms that carry an IPv4 address, by which a network may deliver to it.
std::optional<uint32_t> Embedded(const Bytes& bytes) {
  const bool ten_zeros = std::all_of(bytes.begin(), bytes.begin() + 10, [](uint8_t b) { return b == 0; });
  if (ten_zeros && bytes[10] == 0xff && bytes[11] == 0xff) return QuadAt(bytes, 12);  // mapped, ::ffff:0:0/96
  const bool compatible = ten_zeros && bytes[10] == 0 && bytes[11] == 0 && QuadAt(bytes, 12) > 1;  // not :: and ::1
  if (compatible) return QuadAt(bytes, 12);
  if (StartsWith(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0})) return QuadAt(bytes, 12);     // RFC 2765
  if (StartsWith(bytes, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return QuadAt(bytes, 12);  // NAT64
  if (StartsWith(bytes, {0x20, 0x02})) return QuadAt(bytes, 2);                                    // 6to4
  return std::nullopt;
}

AddressClass ClassifyV6(const Bytes& b) {
  if (StartsWith(b, {0xfd, 0x00, 0x0e, 0xc2})) return AddressClass::kMetadata;  // fd00:ec2::/32
  if (b == Bytes{}) return AddressClass::kUnspecified;
  Bytes loopback{};
  loopback[15] = 1;
  if (b == loopback) return AddressClass::kLoopback;
  if (b[0] == 0xff) return AddressClass::kMulticast;
  if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80) return AddressClass::kLinkLocal;
  if (b[0] == 0xfe && (b[1] & 0xc0) == 0xc0) return AddressClass::kPrivate;  // site-local, deprecated
  if ((b[0] & 0xfe) == 0xfc) return AddressClass::kPrivate;
  if (StartsWith(b, {0, 0x64, 0xff, 0x9b, 0, 1})) return AddressClass::kPrivate;  // RFC 8215
  if ((b[0] & 0xe0) != 0x20) return AddressClass::kReserved;
  const bool documentation = StartsWith(b, {0x20, 0x01, 0x0d, 0xb8});
  // 2001::/23 holds Teredo and other protocol assignments.
  if (!documentation && b[0] == 0x20 && b[1] == 0x01 && (b[2] & 0xfe) == 0) return AddressClass::kReserved;
  return AddressClass::kPublic;
}

bool Named(const IpAddress& address, AddressClass address_class, std::span<const Cidr> allowed) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const Cidr& cidr) {
    return cidr.Contains(address) && (address_class != AddressClass::kMetadata || cidr.single());
  });
}

}  // namespace

std::string_view AddressClassName(AddressClass address_class) {
  switch (address_class) {
    case AddressClass::kPublic:
      return "public";
    case AddressClass::kLoopback:
      return "loopback";
    case AddressClass::kPrivate:
      return "private";
    case AddressClass::kLinkLocal:
      return "link-local";
    case AddressClass::kSharedNat:
      return "shared NAT";
    case AddressClass::kMulticast:
      return "multicast";
    case AddressClass::kUnspecified:
      return "unspecified";
    case AddressClass::kReserved:
      return "reserved";
    case AddressClass::kMetadata:
      return "metadata";
  }
  return "?";
}

IpAddress Unwrap(const IpAddress& address) {
  if (address.is_v4()) return address;
  const std::optional<uint32_t> inner = Embedded(address.bytes());
  return inner ? IpAddress::V4(*inner) : address;
}

AddressClass Classify(const IpAddress& address) {
  const IpAddress plain = Unwrap(address);
  return plain.is_v4() ? ClassifyV4(plain.v4()) : ClassifyV6(plain.bytes());
}

bool OwnListeners::Reaches(const IpAddress& address, uint16_t port) const {
  if (!ports_.contains(port)) return false;
  const IpAddress plain = Unwrap(address);
  const AddressClass address_class = Classify(plain);
  if (address_class == AddressClass::kLoopback || address_class == AddressClass::kUnspecified) return true;
  return std::any_of(local_.begin(), local_.end(), [&](const IpAddress& mine) { return Unwrap(mine) == plain; });
}

absl::Status CheckAddress(const IpAddress& address, uint16_t port, const AddressGuard& guard) {
  if (guard.own != nullptr && guard.own->Reaches(address, port)) {
    return base::Error(base::ErrorCode::kLoop, base::StrCat(address.Text(), " port ", port));
  }
  const AddressClass address_class = Classify(address);
  if (address_class == AddressClass::kPublic) return absl::OkStatus();
  // A block may name the address as it came or the IPv4 address inside; a metadata address only by itself.
  if (Named(address, address_class, guard.allowed) || Named(Unwrap(address), address_class, guard.allowed)) {
    return absl::OkStatus();
  }
  return base::Error(base::ErrorCode::kUpstreamAddressRefused,
                     base::StrCat(address.Text(), " is ", AddressClassName(address_class)));
}

absl::Status CheckAddresses(std::span<const IpAddress> addresses, uint16_t port, const AddressGuard& guard) {
  if (addresses.empty()) return base::Error(base::ErrorCode::kUpstreamUnresolved, "no address");
  for (const IpAddress& address : addresses) RETURN_IF_ERROR(CheckAddress(address, port, guard));
  return absl::OkStatus();
}

}  // namespace credbroker::net
