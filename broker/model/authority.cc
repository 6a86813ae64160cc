#include "model/authority.h"

#include <arpa/inet.h>

#include <array>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"

namespace credbroker::model {
namespace {

using base::ErrorCode;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadHost, why); }

bool IsLabelByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool IsDigits(std::string_view text) {
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return !text.empty();
}

bool CanonicalIpv6(std::string_view text, std::string* out) {
  const std::string copy(text);
  in6_addr address;
  if (copy.find('\0') != std::string::npos || inet_pton(AF_INET6, copy.c_str(), &address) != 1) return false;
  std::array<char, INET6_ADDRSTRLEN> buffer;
  *out = inet_ntop(AF_INET6, &address, buffer.data(), buffer.size());
  return true;
}

bool CanonicalIpv4(std::string_view text) {
  const std::string copy(text);
  in_addr address;
  std::array<char, INET_ADDRSTRLEN> buffer;
  return inet_pton(AF_INET, copy.c_str(), &address) == 1 &&
         copy == inet_ntop(AF_INET, &address, buffer.data(), buffer.size());
}

absl::StatusOr<Authority> Name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);  // the absolute form of the same name
  if (text.empty() || text.size() > 253) return Bad("empty or too long");
  Authority out;
  out.host = base::AsciiLower(text);
  std::string_view last;
  for (std::string_view rest = out.host;;) {
    const std::size_t dot = rest.find('.');
    last = rest.substr(0, dot);
    if (last.empty() || last.size() > 63 || last.front() == '-' || last.back() == '-') return Bad("bad label");
    for (const char c : last) {
      if (!IsLabelByte(c)) return Bad("bad character");
    }
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  // A name that ends in a number is an address to some resolvers (127.1, 0x7f000001): only real IPv4 may.
  if (IsDigits(last) || (last.starts_with("0x") && last.size() > 2)) {
    if (!CanonicalIpv4(out.host)) return Bad("a number that is not an IPv4 address");
    out.is_ip = true;
  }
  return out;
}

absl::StatusOr<uint16_t> Port(std::string_view text) {
  unsigned port = 0;
  if (text.size() > 5 || !IsDigits(text) || !base::ParseInt(text, &port) || port == 0 || port > 65535) return Bad("bad port");
  return static_cast<uint16_t>(port);
}

absl::StatusOr<Authority> Bracketed(std::string_view inner) {
  Authority out;
  if (inner.find('%') != std::string_view::npos || !CanonicalIpv6(inner, &out.host)) return Bad("not an IPv6 address");
  out.is_ip = true;
  return out;
}

}  // namespace

std::string Authority::Text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? base::StrCat("[", host, "]:", port) : base::StrCat(host, ":", port);
}

std::string Authority::Text(uint16_t default_port) const {
  std::string text = Text();
  if (port == default_port) text.resize(text.rfind(':'));
  return text;
}

absl::StatusOr<Authority> ParseAuthority(std::string_view text, std::optional<uint16_t> default_port) {
  if (text.empty() || text.size() > 300) return Bad("empty or too long");
  std::string_view host = text;
  std::optional<std::string_view> port;
  const bool bracketed = text.front() == '[';
  if (bracketed) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return Bad("bracket without end");
    host = text.substr(1, close - 1);
    const std::string_view after = text.substr(close + 1);
    if (!after.empty() && after.front() != ':') return Bad("text after the bracket");
    if (!after.empty()) port = after.substr(1);
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);  // a second colon fails as a port
  }
  if (!port && !default_port) return Bad("no port");
  ASSIGN_OR_RETURN(Authority out, bracketed ? Bracketed(host) : Name(host));
  out.port = default_port.value_or(0);
  if (port) {
    ASSIGN_OR_RETURN(out.port, Port(*port));
  }
  return out;
}

absl::StatusOr<Authority> ParseHost(std::string_view text) {
  Authority out;
  if (CanonicalIpv6(text, &out.host)) {
    out.is_ip = true;
    return out;
  }
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') return Bracketed(text.substr(1, text.size() - 2));
  return Name(text);
}

absl::StatusOr<HostPattern> HostPattern::Parse(std::string_view text, uint16_t default_port) {
  HostPattern pattern;
  pattern.wildcard_ = text.starts_with("*.");
  if (pattern.wildcard_) text.remove_prefix(2);
  ASSIGN_OR_RETURN(pattern.authority_, ParseAuthority(text, default_port));
  if (pattern.wildcard_ && (pattern.authority_.is_ip || pattern.authority_.host.find('.') == std::string::npos)) {
    return Bad("a wildcard needs a suffix of two labels or more");
  }
  return pattern;
}

bool HostPattern::Matches(const Authority& authority) const {
  if (authority.port != authority_.port) return false;
  if (!wildcard_) return authority.host == authority_.host && authority.is_ip == authority_.is_ip;
  const std::string_view host = authority.host;
  const std::string_view suffix = authority_.host;
  return !authority.is_ip && host.size() > suffix.size() + 1 && host.ends_with(suffix) &&
         host[host.size() - suffix.size() - 1] == '.';
}

std::string HostPattern::Text() const { return (wildcard_ ? "*." : "") + authority_.Text(443); }

}  // namespace credbroker::model
