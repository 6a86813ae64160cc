#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "control/caller.h"
#include "control/edges.h"
#include "control/metrics.h"
#include "control/recorder.h"
#include "store/store.h"

namespace credbroker::control {

// What is to be revoked (S47).
struct RevokeTarget {
  store::RevocationKind kind = store::RevocationKind::kToken;  // token, session, scope, repository, credential, all
  std::string value;                                           // empty for all
};

struct Revoked {
  std::vector<std::string> tokens;  // ids that fell now
  int edges_told = 0;               // edges that confirmed it
};

// What a revocation changes in the store, made inside its transaction.
struct RevocationChange {
  std::vector<store::Revocation> rows;
  std::vector<std::string> tokens;
};

// Revokes: first the store, then every edge, then the ledger. It goes on when the ledger cannot be written; the records
// are owed then. Acts on a broker's own answers at once, on edges as soon as they confirm. Thread-safe.
class Revocations {
 public:
  Revocations(store::Store& store, EdgeHub& hub, Recorder& recorder, Metrics& metrics, const base::Clock& clock)
      : store_(store), hub_(hub), recorder_(recorder), metrics_(metrics), clock_(clock) {}

  // Tells the hub what was revoked before this start. Fails as the store.
  absl::Status Load();

  // Token, session, scope and all take the tokens themselves; a session that is named is closed, others stay open for
  // new tokens. Repository and credential leave tokens alone and refuse what touches these, for tokens issued until now
  // and for all that are renewed or derived from them. Fails kTokenNotFound, kSessionNotFound, kBadArgument, as the
  // store.
  absl::StatusOr<Revoked> Revoke(const RevokeTarget& target, const Cause& cause);

  // Runs `change` in one transaction of the store, stores its rows, tells edges and ledger. For revocations that are
  // part of a session's own step.
  absl::StatusOr<Revoked> Commit(const Cause& cause, const std::function<absl::StatusOr<RevocationChange>()>& change);

  // Edges drop cached values of these credentials. Nothing is refused by it.
  void DropLeases(const std::vector<std::string>& credentials);

  // Whether a repository or credential is refused to a token issued at `issued_at`.
  bool Refuses(store::RevocationKind kind, std::string_view value, absl::Time issued_at) const;
  // Whether any repository or credential is: such a token's children keep its time of issue.
  bool RefusesSomething(absl::Time issued_at) const;
  // A time of issue, in whole seconds, that no revocation so far concerns. Each round of revoking and issuing within one
  // second moves it a second ahead; edges take times up to token::kClockSkew ahead.
  absl::Time IssueTime(absl::Time now) const;

  // Forgets what ended.
  void Prune();

  static constexpr absl::Duration kConfirmWait = absl::Milliseconds(250);
  static constexpr absl::Duration kMaxAhead = absl::Seconds(20);  // below the skew that verifiers take

 private:
  absl::StatusOr<RevocationChange> Change(const RevokeTarget& target, const Cause& cause);
  absl::StatusOr<std::vector<std::string>> RevokeTokens(const RevokeTarget& target, const Cause& cause, absl::Time now);
  absl::Status CloseRow(std::string_view session, const Cause& cause, absl::Time now);
  void Remember(const store::Revocation& row);
  void CoverIssued(store::Revocation* row) const;
  void Record(const Revoked& revoked, const std::vector<store::Revocation>& rows, const Cause& cause);

  store::Store& store_;
  EdgeHub& hub_;
  Recorder& recorder_;
  Metrics& metrics_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<store::Revocation> broad_;  // all kinds but token and session, until they end
  mutable absl::Time newest_issue_ = absl::InfinitePast();
};

// The row of one revoked token.
store::Revocation TokenRevocation(std::string id, absl::Time now, const Cause& cause);

}  // namespace credbroker::control
