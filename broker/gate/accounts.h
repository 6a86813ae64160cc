#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/time/time.h"
#include "base/error.h"
#include "model/decision.h"

namespace credbroker::gate {

// What one session does under one scope, held against the scope's limits. Times are monotonic. Loop thread only.
class Account {
 public:
  explicit Account(std::string_view scope) : scope_(scope) {}

  // May one more request begin? Takes it from the minute's allowance, which refills steadily up to a minute's worth.
  // kNone, kRateLimited, kTooManyRunning, kByteLimit.
  base::ErrorCode Admit(const model::UseLimits& limits, absl::Duration now);

  void Begin() { ++running_; }
  void End() { --running_; }
  int running() const { return running_; }

  // Counts body bytes, either way. False when that passes `limit` (0 = none): the transfer ends then.
  bool Move(int64_t bytes, int64_t limit) {
    moved_ += bytes;
    return limit == 0 || moved_ <= limit;
  }

 private:
  friend class Accounts;
  // Nothing runs, and nothing that was counted can still matter.
  bool Rested(absl::Duration now) const;
  void Refill(const model::UseLimits& limits, absl::Duration now);

  std::string scope_;
  int running_ = 0;
  int64_t moved_ = 0;
  bool keeps_bytes_ = false;  // a limit of bytes holds: the count lives as long as a session may
  double allowance_ = 0;      // requests that may begin at once
  absl::Duration refilled_ = -absl::InfiniteDuration();
  absl::Duration full_at_;    // when the allowance is whole again
};

// The accounts of a loop, bounded in number: a full table forgets those at rest.
class Accounts {
 public:
  // The longest life of a session (policy/rules.h): after so long without a request a count of bytes is of no session.
  static constexpr absl::Duration kMemory = absl::Hours(24);

  explicit Accounts(std::size_t max_accounts) : max_accounts_(max_accounts) {}

  // The account of `session` under `scope`; null when the table is full of accounts that still count. It stays where it is
  // while a request runs under it.
  Account* Of(const std::string& session, std::string_view scope, absl::Duration now);

  void ForgetRested(absl::Duration now);

  // Calls `use(session)` for each session with a running request.
  template <typename Use>
  void EachRunning(Use use) const {
    for (const auto& [session, accounts] : sessions_) {
      for (const Account& account : accounts) {
        if (account.running() == 0) continue;
        use(session);
        break;
      }
    }
  }

  std::size_t size() const { return size_; }

 private:
  const std::size_t max_accounts_;
  std::size_t size_ = 0;
  std::unordered_map<std::string, std::forward_list<Account>> sessions_;  // few scopes each
};

}  // namespace credbroker::gate
