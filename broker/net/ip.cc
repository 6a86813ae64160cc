#include "net/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/str.h"

namespace credbroker::net {
namespace {

absl::Status NotAnAddress() { return base::Error(base::ErrorCode::kBadHost, "not an IP address"); }

int Bit(const std::array<uint8_t, 16>& bytes, int index) {
  return bytes[static_cast<std::size_t>(index / 8)] >> (7 - index % 8) & 1;
}

}  // namespace

IpAddress IpAddress::V4(uint32_t host_order) {
  std::array<uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(host_order >> (24 - 8 * i));
  return IpAddress(Family::kV4, bytes);
}

absl::StatusOr<IpAddress> IpAddress::Parse(std::string_view text) {
  // inet_pton is strict in both families; it takes C strings, so that a NUL must be refused here.
  char terminated[INET6_ADDRSTRLEN] = {};
  if (text.empty() || text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) {
    return NotAnAddress();
  }
  std::memcpy(terminated, text.data(), text.size());
  std::array<uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, terminated, bytes.data()) == 1) return IpAddress(Family::kV4, bytes);
  if (inet_pton(AF_INET6, terminated, bytes.data()) == 1) return IpAddress(Family::kV6, bytes);
  return NotAnAddress();
}

uint32_t IpAddress::v4() const {
  return uint32_t{bytes_[0]} << 24 | uint32_t{bytes_[1]} << 16 | uint32_t{bytes_[2]} << 8 | bytes_[3];
}

std::string IpAddress::Text() const {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(is_v4() ? AF_INET : AF_INET6, bytes_.data(), text, sizeof text);
  return text;
}

absl::StatusOr<Cidr> Cidr::Parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  auto base = IpAddress::Parse(text.substr(0, slash));
  if (!base.ok()) return base.status();
  const int width = base->is_v4() ? 32 : 128;
  Cidr cidr;
  cidr.base_ = *base;
  cidr.prefix_ = width;
  if (slash == std::string_view::npos) return cidr;
  const std::string_view prefix = text.substr(slash + 1);
  const bool canonical = !prefix.empty() && prefix.find_first_not_of("0123456789") == std::string_view::npos &&
                         (prefix.size() == 1 || prefix[0] != '0');
  if (!canonical || !base::ParseInt(prefix, &cidr.prefix_) || cidr.prefix_ > width) {
    return base::Error(base::ErrorCode::kBadHost, "the prefix length is not well-formed");
  }
  for (int i = cidr.prefix_; i < width; ++i) {
    if (Bit(cidr.base_.bytes(), i) != 0) {
      return base::Error(base::ErrorCode::kBadHost, "bits are set behind the prefix");
    }
  }
  return cidr;
}

bool Cidr::Contains(const IpAddress& address) const {
  if (address.family() != base_.family()) return false;
  for (int i = 0; i < prefix_; ++i) {
    if (Bit(address.bytes(), i) != Bit(base_.bytes(), i)) return false;
  }
  return true;
}

std::string Cidr::Text() const { return base::StrCat(base_.Text(), "/", prefix_); }

std::string Endpoint::Text() const {
  if (is_unix()) return base::StrCat("unix:", unix_path);
  if (address.is_v4()) return base::StrCat(address.Text(), ":", port);
  return base::StrCat("[", address.Text(), "]:", port);
}

}  // namespace credbroker::net
