#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "crypto/sign.h"
#include "token/claims.h"

namespace credbroker::token {

// The keys under which tokens may be signed, by the footer that names them. A value.
class KeySet {
 public:
  KeySet() = default;
  explicit KeySet(const std::vector<crypto::VerifyKey>& keys);

  // The key of this footer, null when there is none. Valid while the set lives.
  const crypto::VerifyKey* Find(std::string_view footer) const;
  bool empty() const { return keys_.empty(); }

 private:
  std::map<std::string, crypto::VerifyKey, std::less<>> keys_;
};

// The clocks of broker and edge may differ by this much. Concerns iat and nbf only: no token outlives its exp.
inline constexpr absl::Duration kClockSkew = absl::Seconds(30);

// Proves that a text is a token of ours. Revocation and scope are not looked at here. Immutable; thread-safe.
class Verifier {
 public:
  // `audience` names the installation. `assertion` is the implicit assertion that tokens were signed with (channel
  // binding); empty when they are not bound.
  Verifier(KeySet keys, std::string audience, std::string assertion = {});

  // The claims of a token that is authentic and in time. Costs one Ed25519 verification (about 50 us); nothing is
  // allocated for texts over kMaxTokenText. Fails kBadToken, kWrongAudience, kTokenExpired, kTokenNotYetValid.
  absl::StatusOr<Claims> Verify(std::string_view text, absl::Time now) const;

  // As above for a token that is bound to another channel than the verifier's own.
  absl::StatusOr<Claims> Verify(std::string_view text, std::string_view assertion, absl::Time now) const;

 private:
  KeySet keys_;
  std::string audience_;
  std::string assertion_;
};

// True when the text looks like a token of ours (prefix and characters), without proving anything: for masking in
// paths and logs, and to tell our tokens from foreign credentials.
bool LooksLikeToken(std::string_view text);

}  // namespace credbroker::token
