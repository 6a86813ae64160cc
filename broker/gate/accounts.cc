#include "gate/accounts.h"

#include <algorithm>
#include <iterator>

namespace credbroker::gate {

using base::ErrorCode;

void Account::Refill(const model::UseLimits& limits, absl::Duration now) {
  const double whole = limits.requests_per_minute;
  const double per_second = whole / 60;
  const bool first = refilled_ == -absl::InfiniteDuration();
  allowance_ = first ? whole : std::min(whole, allowance_ + absl::ToDoubleSeconds(now - refilled_) * per_second);
  refilled_ = now;
}

ErrorCode Account::Admit(const model::UseLimits& limits, absl::Duration now) {
  keeps_bytes_ = limits.bytes != 0;
  if (limits.bytes != 0 && moved_ >= limits.bytes) return ErrorCode::kByteLimit;
  if (limits.concurrent_requests != 0 && running_ >= limits.concurrent_requests) return ErrorCode::kTooManyRunning;
  if (limits.requests_per_minute == 0) {
    refilled_ = now;
    full_at_ = now;
    return ErrorCode::kNone;
  }
  Refill(limits, now);
  if (allowance_ < 1) return ErrorCode::kRateLimited;
  allowance_ -= 1;
  full_at_ = now + absl::Seconds(60 * (limits.requests_per_minute - allowance_) / limits.requests_per_minute);
  return ErrorCode::kNone;
}

bool Account::Rested(absl::Duration now) const {
  if (running_ != 0 || now < full_at_) return false;
  return !keeps_bytes_ || moved_ == 0 || now - refilled_ > Accounts::kMemory;
}

Account* Accounts::Of(const std::string& session, std::string_view scope, absl::Duration now) {
  if (const auto found = sessions_.find(session); found != sessions_.end()) {
    for (Account& account : found->second) {
      if (account.scope_ == scope) return &account;
    }
  }
  if (size_ >= max_accounts_) ForgetRested(now);
  if (size_ >= max_accounts_) return nullptr;  // a flood of sessions: refuse rather than grow
  ++size_;
  return &sessions_[session].emplace_front(scope);
}

void Accounts::ForgetRested(absl::Duration now) {
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    size_ -= session->second.remove_if([&](const Account& account) { return account.Rested(now); });
    session = session->second.empty() ? sessions_.erase(session) : std::next(session);
  }
}

}  // namespace credbroker::gate
