#include "control/revocations.h"

#include <algorithm>
#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "control/event_log.h"
#include "model/target.h"

namespace credbroker::control {
namespace {

using store::RevocationKind;

// No token that could be concerned lives longer: tokens live an hour at most, but a child keeps an old time of issue
// under a refused repository or credential, for as long as a session lasts.
constexpr absl::Duration kKeepTokens = absl::Minutes(65);
constexpr absl::Duration kKeepUse = absl::Minutes(24 * 60 + 5);
constexpr absl::Duration kLeaseKeep = absl::Minutes(10);

EdgeRevocation ForEdge(const store::Revocation& row) {
  return {std::string(store::RevocationKindName(row.kind)), row.value, row.at, row.until};
}

bool RefusesUse(RevocationKind kind) {
  return kind == RevocationKind::kRepository || kind == RevocationKind::kCredential;
}

store::Revocation RowOf(const RevokeTarget& target, absl::Time now, const Cause& cause) {
  return {.kind = target.kind,
          .value = target.value,
          .at = now,
          .by = cause.actor,
          .reason = cause.reason,
          .until = now + (RefusesUse(target.kind) ? kKeepUse : kKeepTokens)};
}

}  // namespace

store::Revocation TokenRevocation(std::string id, absl::Time now, const Cause& cause) {
  return RowOf({RevocationKind::kToken, std::move(id)}, now, cause);
}

absl::Status Revocations::Load() {
  ASSIGN_OR_RETURN(const std::vector<store::Revocation> rows, store_.revocations().Since(0), "loading revocations");
  std::vector<EdgeRevocation> known;
  for (const store::Revocation& row : rows) {
    known.push_back(ForEdge(row));
    Remember(row);
  }
  hub_.Load(std::move(known));
  return absl::OkStatus();
}

void Revocations::Remember(const store::Revocation& row) {
  // A token or a session that fell never comes back, so the store's rows say it all.
  if (row.kind == RevocationKind::kToken || row.kind == RevocationKind::kSession) return;
  const std::lock_guard lock(mutex_);
  broad_.push_back(row);
}

absl::StatusOr<Revoked> Revocations::Revoke(const RevokeTarget& target, const Cause& cause) {
  if (target.value.empty() != (target.kind == RevocationKind::kAll)) {
    return base::Error(base::ErrorCode::kBadArgument, "nothing to revoke is named");
  }
  RevokeTarget exact = target;
  if (exact.kind == RevocationKind::kRepository) exact.value = model::CanonicalRepository(exact.value);
  return Commit(cause, [&] { return Change(exact, cause); });
}

absl::StatusOr<RevocationChange> Revocations::Change(const RevokeTarget& target, const Cause& cause) {
  const absl::Time now = clock_.Now();
  RevocationChange change;
  ASSIGN_OR_RETURN(change.tokens, RevokeTokens(target, cause, now));
  change.rows.push_back(RowOf(target, now, cause));
  if (target.kind != RevocationKind::kToken) return change;
  for (const std::string& id : change.tokens) {
    if (id != target.value) change.rows.push_back(TokenRevocation(id, now, cause));
  }
  return change;
}

absl::Status Revocations::CloseRow(std::string_view session, const Cause& cause, absl::Time now) {
  return store_.sessions()
      .Update(session,
              [&](store::Session& row) {
                if (row.state == store::SessionState::kClosed) return absl::OkStatus();
                row.state = store::SessionState::kClosed;
                row.closed_at = now;
                row.close_reason = cause.reason;
                return absl::OkStatus();
              })
      .status();
}

absl::StatusOr<std::vector<std::string>> Revocations::RevokeTokens(const RevokeTarget& target, const Cause& cause,
                                                                   absl::Time now) {
  if (RefusesUse(target.kind)) return std::vector<std::string>();
  if (target.kind == RevocationKind::kToken) return store_.tokens().Revoke(target.value, now);
  if (target.kind == RevocationKind::kSession) {
    RETURN_IF_ERROR(CloseRow(target.value, cause, now), target.value);
    return store_.tokens().RevokeSession(target.value, now);
  }
  constexpr int64_t kEverySession = 1'000'000;
  ASSIGN_OR_RETURN(const std::vector<store::Session> sessions,
                   store_.sessions().List({.live_only = true, .limit = kEverySession}));
  std::vector<std::string> tokens;
  for (const store::Session& session : sessions) {
    const bool concerned =
        target.kind == RevocationKind::kAll ||
        std::find(session.scopes.begin(), session.scopes.end(), target.value) != session.scopes.end();
    if (!concerned) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> fell, store_.tokens().RevokeSession(session.id, now));
    tokens.insert(tokens.end(), fell.begin(), fell.end());
  }
  return tokens;
}

absl::StatusOr<Revoked> Revocations::Commit(const Cause& cause,
                                            const std::function<absl::StatusOr<RevocationChange>()>& change) {
  RevocationChange done;
  const absl::Status stored = store_.InTransaction([&]() -> absl::Status {
    ASSIGN_OR_RETURN(done, change());
    for (store::Revocation& row : done.rows) CoverIssued(&row);
    for (const store::Revocation& row : done.rows) RETURN_IF_ERROR(store_.revocations().Add(row).status());
    return absl::OkStatus();
  });
  RETURN_IF_ERROR(stored, "revoking");
  std::vector<EdgeRevocation> told;
  for (const store::Revocation& row : done.rows) {
    told.push_back(ForEdge(row));
    Remember(row);
  }
  const uint64_t serial = hub_.Revoke(std::move(told));
  metrics_.revocations += done.rows.size();
  Revoked revoked{.tokens = std::move(done.tokens)};
  Record(revoked, done.rows, cause);
  revoked.edges_told = hub_.WaitConfirmed(serial, kConfirmWait);
  return revoked;
}

void Revocations::Record(const Revoked& revoked, const std::vector<store::Revocation>& rows, const Cause& cause) {
  for (const store::Revocation& row : rows) {
    if (row.kind == RevocationKind::kToken) continue;  // below, one record a token
    model::Record record{.kind = model::RecordKind::kRevoke};
    record.action = base::StrCat("revoke.", store::RevocationKindName(row.kind));
    record.subject = row.value;
    record.actor = cause.actor;
    record.detail = cause.reason;
    if (row.kind == RevocationKind::kSession) record.session = row.value;
    if (row.kind == RevocationKind::kRepository) record.repository = row.value;
    if (row.kind == RevocationKind::kCredential) record.credential = row.value;
    recorder_.WriteOrOwe(std::move(record));
  }
  for (const std::string& id : revoked.tokens) {
    model::Record record{.kind = model::RecordKind::kRevoke};
    record.action = "revoke.token";
    record.subject = id;
    record.token_id = id;
    record.actor = cause.actor;
    record.detail = cause.reason;
    if (const auto row = store_.tokens().Find(id); row.ok()) {
      record.session = row->session;
      record.parent_token_id = row->parent_id;
    }
    recorder_.WriteOrOwe(std::move(record));
  }
}

void Revocations::DropLeases(const std::vector<std::string>& credentials) {
  if (credentials.empty()) return;
  const absl::Time now = clock_.Now();
  std::vector<EdgeRevocation> leases;
  for (const std::string& name : credentials) leases.push_back({"lease", name, now, now + kLeaseKeep});
  hub_.WaitConfirmed(hub_.Revoke(std::move(leases)), kConfirmWait);
}

bool Revocations::Refuses(store::RevocationKind kind, std::string_view value, absl::Time issued_at) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(broad_.begin(), broad_.end(), [&](const store::Revocation& row) {
    return row.kind == kind && row.value == value && issued_at <= row.at;
  });
}

bool Revocations::RefusesSomething(absl::Time issued_at) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(broad_.begin(), broad_.end(),
                     [&](const store::Revocation& row) { return RefusesUse(row.kind) && issued_at <= row.at; });
}

absl::Time Revocations::IssueTime(absl::Time now) const {
  absl::Time at = absl::FromUnixSeconds(absl::ToUnixSeconds(now));
  const std::lock_guard lock(mutex_);
  for (const store::Revocation& row : broad_) {
    if (row.at >= at && row.at <= now + kMaxAhead) at = absl::FromUnixSeconds(absl::ToUnixSeconds(row.at)) + absl::Seconds(1);
  }
  newest_issue_ = std::max(newest_issue_, at);
  return at;
}

// A token that was issued before this very row may bear a time that is still to come, see IssueTime.
void Revocations::CoverIssued(store::Revocation* row) const {
  if (row->kind == RevocationKind::kToken || row->kind == RevocationKind::kSession) return;
  const std::lock_guard lock(mutex_);
  if (newest_issue_ <= row->at + kMaxAhead) row->at = std::max(row->at, newest_issue_);
}

void Revocations::Prune() {
  const absl::Time now = clock_.Now();
  hub_.Forget(now);
  const auto pruned = store_.revocations().Prune(now);
  if (!pruned.ok()) LogEvent(Level::kWarning, "prune_failed", {{"error", std::string(pruned.status().message())}});
  const std::lock_guard lock(mutex_);
  std::erase_if(broad_, [now](const store::Revocation& row) { return row.until < now; });
}

}  // namespace credbroker::control
