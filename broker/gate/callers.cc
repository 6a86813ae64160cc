#include "gate/callers.h"

#include "base/error.h"
#include "base/macros.h"
#include "crypto/hash.h"

namespace credbroker::gate {

using base::ErrorCode;

absl::StatusOr<std::shared_ptr<const Caller>> Callers::Find(std::string_view text, const EdgeState& state, absl::Time now) {
  if (state.verifier == nullptr) return base::Error(ErrorCode::kBadToken, "no keys yet");
  if (text.size() > token::kMaxTokenText) return base::Error(ErrorCode::kBadToken);
  const std::string key(crypto::View(crypto::Sha256(text)));
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.verifier == state.verifier.get()) {
    RETURN_IF_ERROR(Alive(*found->second.caller, state, now));
    return found->second.caller;
  }
  ASSIGN_OR_RETURN(token::Claims claims, state.verifier->Verify(text, now));
  auto caller = std::make_shared<Caller>();
  caller->grant = token::ToGrant(claims);
  caller->issued_at = claims.issued_at;
  RETURN_IF_ERROR(Alive(*caller, state, now));
  if (entries_.size() >= max_entries_) entries_.clear();  // bounded; the next request of each pays one verification
  entries_.insert_or_assign(key, Entry{caller, state.verifier.get()});
  return caller;
}

absl::Status Callers::Alive(const Caller& caller, const EdgeState& state, absl::Time now) {
  if (now >= caller.grant.expires_at) return base::Error(ErrorCode::kTokenExpired);
  if (state.revocations->Hits(caller.grant, caller.issued_at)) return base::Error(ErrorCode::kTokenRevoked);
  return absl::OkStatus();
}

}  // namespace credbroker::gate
