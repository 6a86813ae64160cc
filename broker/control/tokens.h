#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/secret.h"
#include "control/caller.h"
#include "control/current_rules.h"
#include "control/metrics.h"
#include "control/recorder.h"
#include "control/revocations.h"
#include "model/grant.h"
#include "store/store.h"
#include "token/claims.h"
#include "token/verify.h"

namespace credbroker::token {
class Minter;
}

namespace credbroker::control {

// No token lives longer, whatever is asked for or a policy says.
inline constexpr absl::Duration kTokenCeiling = absl::Minutes(60);

// A token as it is handed out, once.
struct IssuedToken {
  std::string id;
  base::Secret text;
  absl::Time expires_at;
};

// What a caller asks for. A zero life asks for the default; what goes beyond a ceiling is cut.
struct TokenWish {
  absl::Duration life = absl::ZeroDuration();
  model::Narrowing narrowing;
  std::optional<model::Label> label;  // the session's when absent
};

// Tokens of sessions: from the ledger's record to the text. Thread-safe.
//
// Order: the claims are fixed, the record of the issue is durable, the row is stored (in a transaction that sees the
// session live and in the claims' phase), and only then the text is signed. A step that fails leaves no token.
class Tokens {
 public:
  Tokens(store::Store& store, const CurrentRules& rules, const token::Minter& minter, const token::Verifier& verifier,
         Recorder& recorder, Revocations& revocations, Metrics& metrics, const base::Clock& clock);

  // A token for a live session. Fails kSessionNotFound, kSessionClosed, kRequesterNotAllowed, kBadDuration,
  // kBadArgument, kLedgerUnavailable.
  absl::StatusOr<IssuedToken> Mint(const Caller& caller, std::string_view session, const TokenWish& wish);
  // The first token of a session or of its new phase.
  absl::StatusOr<IssuedToken> MintFirst(const store::Session& session, absl::Duration life, const Cause& cause);

  // For the session's own socket: with the longest life that the session's limits allow. Having it is no use of the session.
  absl::StatusOr<IssuedToken> MintForSocket(const store::Session& session);

  // A child of the holder's token, at most as wide, which dies with it. Fails kWiderThanParent; as VerifyHolder, Mint.
  absl::StatusOr<IssuedToken> Derive(const Caller& caller, const TokenWish& wish);
  // A new token with the holder's binding; never past the session's end, nor past the parent's end for a token that was
  // derived. It falls with the token that it renews.
  absl::StatusOr<IssuedToken> Renew(const Caller& caller, absl::Duration life);

  // Revokes `target`; without one the holder's own token. A holder alone may revoke its own token and what was derived
  // from it. Fails kCallerNotAllowed; as Revocations::Revoke.
  absl::StatusOr<Revoked> Revoke(const Caller& caller, const std::optional<RevokeTarget>& target, std::string reason);

  // The claims of a token that is genuine, in time, not revoked, and of a live session. Fails kNoToken, kBadToken,
  // kTokenExpired, kTokenNotYetValid, kWrongAudience, kTokenRevoked.
  absl::StatusOr<token::Claims> VerifyHolder(std::string_view text) const;

 private:
  absl::StatusOr<token::Claims> Prepare(const store::Session& session, const TokenWish& wish) const;
  enum class IsUse { kNo, kYes };  // does the issue keep the session from being idle?
  absl::StatusOr<IssuedToken> Issue(const store::Session& session, token::Claims claims, std::string_view action,
                                    const Cause& cause, IsUse use = IsUse::kYes);
  absl::Status Store(const store::Session& session, const token::Claims& claims, IsUse use);
  absl::StatusOr<absl::Time> DerivedEnd(const token::Claims& claims) const;
  absl::Status CheckOwn(const token::Claims& holder, const RevokeTarget& target) const;

  store::Store& store_;
  const CurrentRules& rules_;
  const token::Minter& minter_;
  const token::Verifier& verifier_;
  Recorder& recorder_;
  Revocations& revocations_;
  Metrics& metrics_;
  const base::Clock& clock_;
};

}  // namespace credbroker::control
