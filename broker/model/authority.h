#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace credbroker::model {

// A host and a port in the one canonical form that rules, targets, SNI and Host are compared in: lower case, one
// final dot removed, labels of letters, digits, dash and underscore; IPv4 in four decimal parts; IPv6 as RFC 5952
// writes it, without brackets.
struct Authority {
  std::string host;
  uint16_t port = 0;
  bool is_ip = false;

  // `host:port`, with brackets around IPv6. For URLs and the Host header.
  std::string Text() const;
  // As Text, but without the port when it is `default_port`.
  std::string Text(uint16_t default_port) const;
  bool operator==(const Authority&) const = default;
};

// Reads `host`, `host:port`, `1.2.3.4:port`, `[v6]:port`. Without a port `default_port` is taken, or the text is
// refused when there is none. Fails with kBadHost: empty or doubled labels, more than one final dot, labels over 63
// or names over 253 bytes, anything beyond ASCII, IPv6 without brackets, names or IPv4 in brackets, numeric names
// that are not IPv4 (`0x7f.1`, `127.1`), port 0 or over 65535, user-info.
absl::StatusOr<Authority> ParseAuthority(std::string_view text, std::optional<uint16_t> default_port);

// One host name (or IP literal, IPv6 with or without brackets) in canonical form, for SNI and rule entries.
absl::StatusOr<Authority> ParseHost(std::string_view text);

// A host entry of a rule: an exact name, or `*.suffix`, which matches one or more labels in front of the suffix and
// never the suffix itself; with `:port`, default 443.
class HostPattern {
 public:
  static absl::StatusOr<HostPattern> Parse(std::string_view text, uint16_t default_port = 443);
  bool Matches(const Authority& authority) const;
  // As it is written in reports: `git.example:8443`, `*.mirror.example`.
  std::string Text() const;
  bool wildcard() const { return wildcard_; }
  const Authority& authority() const { return authority_; }  // the suffix when wildcard()

 private:
  Authority authority_;
  bool wildcard_ = false;
};

}  // namespace credbroker::model
