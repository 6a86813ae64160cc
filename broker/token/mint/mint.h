#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/secret.h"
#include "crypto/sign.h"
#include "token/claims.h"

namespace credbroker::token {

struct Minted {
  base::Secret text;  // for the sandbox; shown once
  Claims claims;      // for the record
};

// What a child may be asked to permit. Empty lists ask for what the parent has.
struct DeriveRequest {
  std::vector<std::string> scopes;
  model::Narrowing narrowing;
  absl::Duration life = absl::ZeroDuration();  // zero: as long as the parent
  model::Label label = model::Label::kTool;
};

// Signs tokens. Linked by the broker only: the edge has no code to mint. Immutable; thread-safe.
class Minter {
 public:
  // `audience` and `assertion` as the Verifier's.
  Minter(crypto::SigningKey key, std::string audience, std::string assertion = {});

  const crypto::VerifyKey& public_key() const { return key_.public_key(); }
  const std::string& audience() const { return audience_; }

  // Signs `claims` as they are, except: the audience is the minter's, an empty id becomes a new one, times are cut to
  // whole seconds. Gives a token or an error, never both. Fails as EncodeClaims.
  absl::StatusOr<Minted> Mint(Claims claims) const;
  // The same, bound to another channel.
  absl::StatusOr<Minted> Mint(Claims claims, std::string_view assertion) const;

  // A token that permits at most what `parent` does, of the same session and phase, and dies no later: a longer life
  // is cut. `parent` must be verified. Fails kWiderThanParent when a scope, repository, ref, method or host goes
  // beyond the parent or cannot be shown not to; kTokenExpired when the parent is over; as Mint otherwise.
  absl::StatusOr<Minted> Derive(const Claims& parent, const DeriveRequest& request, absl::Time now) const;
  absl::StatusOr<Minted> Derive(const Claims& parent, const DeriveRequest& request, absl::Time now,
                                std::string_view assertion) const;

 private:
  crypto::SigningKey key_;
  std::string audience_;
  std::string assertion_;
  std::string footer_;
};

// The narrowing of a child: `asked` where it asks, the parent's elsewhere. Fails kWiderThanParent. Also for control,
// when a session's owner mints a narrowed token.
absl::StatusOr<model::Narrowing> NarrowFurther(const model::Narrowing& parent, const model::Narrowing& asked);

}  // namespace credbroker::token
