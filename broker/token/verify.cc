#include "token/verify.h"

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "token/paseto.h"

namespace credbroker::token {
namespace {

using base::Error;
using base::ErrorCode;

bool IsTokenCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

absl::Status CheckTime(const Claims& claims, absl::Time now) {
  if (now >= claims.expires_at) return Error(ErrorCode::kTokenExpired);
  if (claims.not_before > now + kClockSkew || claims.issued_at > now + kClockSkew) {
    return Error(ErrorCode::kTokenNotYetValid);
  }
  return absl::OkStatus();
}

}  // namespace

KeySet::KeySet(const std::vector<crypto::VerifyKey>& keys) {
  for (const crypto::VerifyKey& key : keys) keys_.emplace(KeyFooter(key), key);
}

const crypto::VerifyKey* KeySet::Find(std::string_view footer) const {
  const auto found = keys_.find(footer);
  return found == keys_.end() ? nullptr : &found->second;
}

Verifier::Verifier(KeySet keys, std::string audience, std::string assertion)
    : keys_(std::move(keys)), audience_(std::move(audience)), assertion_(std::move(assertion)) {}

absl::StatusOr<Claims> Verifier::Verify(std::string_view text, absl::Time now) const {
  return Verify(text, assertion_, now);
}

absl::StatusOr<Claims> Verifier::Verify(std::string_view text, std::string_view assertion, absl::Time now) const {
  if (text.size() > kMaxTokenText || !LooksLikeToken(text)) return Error(ErrorCode::kBadToken, "not a token's text");
  ASSIGN_OR_RETURN(const PasetoParts parts, SplitPaseto(text.substr(kTokenPrefix.size())));
  const crypto::VerifyKey* key = keys_.Find(parts.footer);
  if (key == nullptr) return Error(ErrorCode::kBadToken, "signed by an unknown key");
  if (!key->Verify(SignedMessage(parts.payload, parts.footer, assertion), parts.signature)) {
    return Error(ErrorCode::kBadToken, "the signature does not verify");
  }
  ASSIGN_OR_RETURN(Claims claims, DecodeClaims(parts.payload));
  if (claims.audience != audience_) return Error(ErrorCode::kWrongAudience);
  RETURN_IF_ERROR(CheckTime(claims, now));
  return claims;
}

bool LooksLikeToken(std::string_view text) {
  return text.starts_with(kTokenPrefix) && text.substr(kTokenPrefix.size()).starts_with(kPasetoHeader) &&
         std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

}  // namespace credbroker::token
