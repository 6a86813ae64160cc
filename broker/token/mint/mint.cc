#include "token/mint/mint.h"

#include <algorithm>

#include "base/error.h"
#include "base/id.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "token/paseto.h"

namespace credbroker::token {
namespace {

using base::Error;
using base::ErrorCode;

absl::Time WholeSecond(absl::Time time) { return absl::FromUnixSeconds(absl::ToUnixSeconds(time)); }

absl::StatusOr<std::vector<std::string>> NarrowScopes(const std::vector<std::string>& parent,
                                                      const std::vector<std::string>& asked) {
  for (const std::string& scope : asked) {
    if (std::find(parent.begin(), parent.end(), scope) != parent.end()) continue;
    return Error(ErrorCode::kWiderThanParent, base::StrCat("scope ", base::EscapeText(scope, 80)));
  }
  return asked.empty() ? parent : asked;
}

}  // namespace

Minter::Minter(crypto::SigningKey key, std::string audience, std::string assertion)
    : key_(std::move(key)),
      audience_(std::move(audience)),
      assertion_(std::move(assertion)),
      footer_(KeyFooter(key_.public_key())) {}

absl::StatusOr<Minted> Minter::Mint(Claims claims) const { return Mint(std::move(claims), assertion_); }

absl::StatusOr<Minted> Minter::Mint(Claims claims, std::string_view assertion) const {
  claims.audience = audience_;
  if (claims.id.empty()) claims.id = base::RandomId("t-");
  claims.issued_at = WholeSecond(claims.issued_at);
  claims.not_before = WholeSecond(claims.not_before);
  claims.expires_at = WholeSecond(claims.expires_at);
  ASSIGN_OR_RETURN(std::string payload, EncodeClaims(claims));
  const std::string signature = key_.Sign(SignedMessage(payload, footer_, assertion));
  payload += signature;
  std::string text =
      base::StrCat(kTokenPrefix, kPasetoHeader, base::Base64UrlEncode(payload), ".", base::Base64UrlEncode(footer_));
  if (text.size() > kMaxTokenText) return Error(ErrorCode::kTooLarge, "the token's text");
  return Minted{base::Secret::Take(std::move(text)), std::move(claims)};
}

absl::StatusOr<Minted> Minter::Derive(const Claims& parent, const DeriveRequest& request, absl::Time now) const {
  return Derive(parent, request, now, assertion_);
}

absl::StatusOr<Minted> Minter::Derive(const Claims& parent, const DeriveRequest& request, absl::Time now,
                                      std::string_view assertion) const {
  if (now >= parent.expires_at) return Error(ErrorCode::kTokenExpired, "the parent is over");
  if (request.life < absl::ZeroDuration()) return Error(ErrorCode::kBadArgument, "a token's life is not negative");
  Claims child = parent;
  child.id.clear();
  child.parent_id = parent.id;
  child.label = request.label;
  child.issued_at = now;
  child.not_before = std::max(now, parent.not_before);
  if (request.life > absl::ZeroDuration()) child.expires_at = std::min(now + request.life, parent.expires_at);
  ASSIGN_OR_RETURN(child.scopes, NarrowScopes(parent.scopes, request.scopes));
  ASSIGN_OR_RETURN(child.narrowing, NarrowFurther(parent.narrowing, request.narrowing));
  return Mint(std::move(child), assertion);
}

}  // namespace credbroker::token
