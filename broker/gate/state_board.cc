#include "gate/state_board.h"

#include <algorithm>

#include "model/target.h"

namespace credbroker::gate {

void RevocationSet::Add(const Revocation& revocation) {
  const auto latest = [&](Times& times, std::string value) {
    absl::Time& at = times.try_emplace(std::move(value), absl::InfinitePast()).first->second;
    at = std::max(at, revocation.at);
  };
  ++count_;
  if (revocation.kind == "token") {
    tokens_.insert(revocation.value);
  } else if (revocation.kind == "session") {
    sessions_.insert(revocation.value);
  } else if (revocation.kind == "scope") {
    latest(scopes_, revocation.value);
  } else if (revocation.kind == "repository") {
    latest(repositories_, model::CanonicalRepository(revocation.value));
  } else if (revocation.kind == "credential") {
    latest(credentials_, revocation.value);
  } else {
    // `all`, and any word that this edge does not know: when in doubt everything is revoked.
    all_ = std::max(all_, revocation.at);
  }
}

bool RevocationSet::Later(const Times& times, const std::string& value, absl::Time issued_at) {
  const auto found = times.find(value);
  return found != times.end() && issued_at <= found->second;
}

bool RevocationSet::Hits(const model::Grant& grant, absl::Time issued_at) const {
  if (count_ == 0) return false;
  if (issued_at <= all_ || sessions_.contains(grant.session)) return true;
  if (tokens_.contains(grant.token_id) || tokens_.contains(grant.parent_id)) return true;
  return std::any_of(grant.scopes.begin(), grant.scopes.end(),
                     [&](const std::string& scope) { return Later(scopes_, scope, issued_at); });
}

bool RevocationSet::HitsRepository(const std::string& repository, absl::Time issued_at) const {
  return Later(repositories_, repository, issued_at);
}

bool RevocationSet::HitsCredential(const std::string& credential, absl::Time issued_at) const {
  return Later(credentials_, credential, issued_at);
}

StateBoard::StateBoard() {
  auto state = std::make_shared<EdgeState>();
  state->rules = policy::RuleSet::Empty();
  state->revocations = std::make_shared<RevocationSet>();
  state_ = std::move(state);
}

void StateBoard::Publish(std::shared_ptr<const EdgeState> state) {
  const std::lock_guard lock(mu_);
  state_ = std::move(state);
  generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const EdgeState> StateBoard::Current() const {
  const std::lock_guard lock(mu_);
  return state_;
}

}  // namespace credbroker::gate
