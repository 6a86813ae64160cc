#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/grant.h"

namespace credbroker::token {

// The text of a token: `cbt_` for secret scanners, then PASETO v4.public. Characters: A-Z a-z 0-9 . _ -
inline constexpr std::string_view kTokenPrefix = "cbt_";
inline constexpr std::size_t kMaxTokenText = 4000;   // what survives as a Basic password everywhere
inline constexpr std::size_t kMaxClaimsJson = 2800;  // so that a token never exceeds kMaxTokenText
// No token lives longer, whatever a policy says.
inline constexpr absl::Duration kMaxTokenLife = absl::Hours(24);

// What a token says. Authentic after Verifier::Verify; whether it permits a request is for `policy` alone.
struct Claims {
  std::string id;
  std::string parent_id;  // empty for a token that was not derived
  std::string session;
  std::string audience;  // the installation
  std::string requester;
  absl::Time issued_at;  // whole seconds, as the other two
  absl::Time not_before;
  absl::Time expires_at;  // always there
  model::Phase phase = model::Phase::kAgent;
  model::Label label = model::Label::kAgent;
  std::vector<std::string> scopes;
  model::Narrowing narrowing;
  std::string policy_digest;  // of the policy in force at issue, for the record

  bool operator==(const Claims&) const = default;
};

// claims := {"aud":S,"exp":N,"iat":N,"jti":S,"label":S,"narrow":{"hosts":[S],"methods":[S],"refs":[S],"repos":[S]},
//            "nbf":N,"parent":S,"phase":S,"policy":S,"req":S,"scopes":[S],"sid":S}
// Canonical as RFC 8785: keys in order, no spaces; absent when empty: narrow and its lists, parent, policy. Times are
// whole seconds since 1970. Only printable ASCII stands in strings.
// Fails kBadArgument on an empty or odd field, on times out of order or too far apart; kTooLarge above kMaxClaimsJson.
absl::StatusOr<std::string> EncodeClaims(const Claims& claims);

// The narrowing alone, as in the claims; empty when it narrows nothing. Same limits.
std::string EncodeNarrowing(const model::Narrowing& narrowing);

// Accepts exactly what EncodeClaims writes, byte for byte: unknown, missing, doubled or reordered keys, other types,
// fractions, spaces and needless escapes are refused. Fails kBadToken.
absl::StatusOr<Claims> DecodeClaims(std::string_view json);

// What the token permits now.
model::Grant ToGrant(const Claims& claims);

}  // namespace credbroker::token
