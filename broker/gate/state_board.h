#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/grant.h"
#include "policy/rule_set.h"
#include "token/verify.h"

namespace credbroker::gate {

// Something that was permitted and is not any more.
struct Revocation {
  std::string kind;   // token, session, scope, repository, credential, all
  std::string value;  // empty for all
  absl::Time at;      // of tokens issued later, only a revoked token or session is refused
};

// The revocations in force, made for look-ups. Immutable once published.
class RevocationSet {
 public:
  void Add(const Revocation& revocation);
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }

  // Does it hit the token itself, its parent, its session or one of its scopes?
  bool Hits(const model::Grant& grant, absl::Time issued_at) const;
  bool HitsSession(const std::string& session) const { return sessions_.contains(session); }
  // May a token issued then still touch this repository, or use this credential? Names in canonical form.
  bool HitsRepository(const std::string& repository, absl::Time issued_at) const;
  bool HitsCredential(const std::string& credential, absl::Time issued_at) const;

 private:
  using Times = std::map<std::string, absl::Time, std::less<>>;
  static bool Later(const Times& times, const std::string& value, absl::Time issued_at);

  std::set<std::string, std::less<>> tokens_, sessions_;
  Times scopes_, repositories_, credentials_;
  absl::Time all_ = absl::InfinitePast();
  std::size_t count_ = 0;
};

// What the broker last told this edge. Immutable; parts are shared between versions.
struct EdgeState {
  std::shared_ptr<const policy::RuleSet> rules;
  std::shared_ptr<const token::Verifier> verifier;      // null: no keys yet, every token is refused
  std::shared_ptr<const RevocationSet> revocations;
  std::string ca_pem;
};

// Where the broker link puts new state and the loops read it. Thread-safe. A reader keeps its own pointer and looks
// only at `generation` (one atomic load) until something changed.
class StateBoard {
 public:
  StateBoard();
  void Publish(std::shared_ptr<const EdgeState> state);
  std::shared_ptr<const EdgeState> Current() const;
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // The broker was heard at this point of the monotonic clock.
  void NoteHeard(absl::Duration monotonic) { heard_ns_.store(absl::ToInt64Nanoseconds(monotonic)); }
  absl::Duration heard() const { return absl::Nanoseconds(heard_ns_.load()); }

 private:
  mutable std::mutex mu_;
  std::shared_ptr<const EdgeState> state_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<int64_t> heard_ns_{INT64_MIN / 2};
};

}  // namespace credbroker::gate
