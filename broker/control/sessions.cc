#include "control/sessions.h"

#include <algorithm>
#include <utility>

#include "base/id.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "control/event_log.h"

namespace credbroker::control {
namespace {

using base::Error;
using base::ErrorCode;
using store::SessionState;

constexpr std::size_t kMaxScopes = 16;
constexpr std::size_t kMaxTicket = 200;
constexpr std::size_t kMaxReason = 200;
constexpr int64_t kMaxListed = 10'000;

SessionState StateOf(model::Phase phase) {
  return phase == model::Phase::kSetup ? SessionState::kSetup : SessionState::kAgent;
}

bool IsIdle(const store::Session& session, absl::Time now) {
  return session.idle_limit > absl::ZeroDuration() && now - session.last_used_at >= session.idle_limit;
}

}  // namespace

absl::Status CheckLive(const store::Session& session, absl::Time now) {
  if (session.state == SessionState::kClosed) return Error(ErrorCode::kSessionClosed, session.id);
  if (now >= session.expires_at) return Error(ErrorCode::kSessionClosed, "its ceiling is reached");
  if (IsIdle(session, now)) return Error(ErrorCode::kSessionClosed, "it was idle for too long");
  return absl::OkStatus();
}

absl::StatusOr<store::Session> Sessions::Draft(const SessionWish& wish) const {
  if (wish.requester.empty()) return Error(ErrorCode::kBadArgument, "a requester is missing");
  if (wish.ticket.size() > kMaxTicket || !base::IsUtf8(wish.ticket)) return Error(ErrorCode::kBadArgument, "ticket");
  if (wish.life < absl::ZeroDuration()) return Error(ErrorCode::kBadDuration, "a session's life is not negative");
  std::vector<std::string> scopes;
  for (const std::string& scope : wish.scopes) {
    if (std::find(scopes.begin(), scopes.end(), scope) == scopes.end()) scopes.push_back(scope);
  }
  if (scopes.empty()) return Error(ErrorCode::kBadArgument, "a scope is missing");
  if (scopes.size() > kMaxScopes) return Error(ErrorCode::kBadArgument, "at most 16 scopes a session");
  const auto rules = rules_.Get();
  for (const std::string& scope : scopes) RETURN_IF_ERROR(rules->MayOpen(scope, wish.requester), "opening a session");
  const policy::Limits limits = rules->SessionLimits(scopes);
  const absl::Time now = clock_.Now();
  store::Session session;
  session.id = base::RandomId("s-");
  session.requester = wish.requester;
  session.scopes = std::move(scopes);
  session.phase = wish.phase;
  session.state = StateOf(wish.phase);
  session.label = wish.label;
  session.ticket = wish.ticket;
  session.opened_at = now;
  session.expires_at = now + (wish.life > absl::ZeroDuration() ? std::min(wish.life, limits.session) : limits.session);
  session.idle_limit = limits.idle;
  session.last_used_at = now;
  return session;
}

model::Record Sessions::RecordOf(const store::Session& session, std::string_view action, const Cause& cause) const {
  model::Record record{.kind = model::RecordKind::kSession};
  record.action = action;
  record.subject = session.id;
  record.session = session.id;
  record.requester = session.requester;
  record.label = model::LabelName(session.label);
  record.phase = model::PhaseName(session.phase);
  record.ticket = session.ticket;
  record.scopes = session.scopes;
  record.actor = cause.actor;
  record.detail = cause.reason;
  record.policy_version = rules_.Get()->version();
  return record;
}

absl::StatusOr<SessionAndToken> Sessions::Open(const Caller& caller, const SessionWish& wish) {
  RETURN_IF_ERROR(caller.MayActFor(wish.requester));
  ASSIGN_OR_RETURN(store::Session session, Draft(wish));
  const Cause cause{.actor = caller.actor};
  RETURN_IF_ERROR(recorder_.Write(RecordOf(session, "session.open", cause)), "opening a session");
  RETURN_IF_ERROR(store_.sessions().Insert(session), "opening a session");
  absl::StatusOr<IssuedToken> token = tokens_.MintFirst(session, wish.token_life, cause);
  if (!token.ok()) {
    // Nobody could use it, so it must not stay open.
    const auto closed =
        CloseFor(session.id, {.actor = "broker", .reason = "its first token was not issued"}, "session.close");
    if (!closed.ok()) LogEvent(Level::kError, "close_failed", {{"session", session.id}});
    return token.status();
  }
  return SessionAndToken{std::move(session), *std::move(token), {}};
}

absl::StatusOr<std::vector<store::Session>> Sessions::List(const Caller& caller, bool include_closed) const {
  store::SessionFilter filter{.live_only = !include_closed, .limit = kMaxListed};
  if (!caller.roles.Meets(Roles::Of(Role::kAdmin, Role::kReviewer, Role::kOperator)))
    filter.requester = caller.requester;
  return store_.sessions().List(filter);
}

absl::StatusOr<SessionAndTokens> Sessions::Get(const Caller& caller, std::string_view id) const {
  ASSIGN_OR_RETURN(store::Session session, store_.sessions().Find(id), "reading a session");
  if (!caller.roles.Meets(Roles::Of(Role::kAdmin, Role::kReviewer, Role::kOperator))) {
    RETURN_IF_ERROR(caller.MayActFor(session.requester));
  }
  ASSIGN_OR_RETURN(std::vector<store::TokenRow> tokens, store_.tokens().ListOfSession(id), "reading a session");
  return SessionAndTokens{std::move(session), std::move(tokens)};
}

absl::StatusOr<SessionAndToken> Sessions::SetPhase(const Caller& caller, std::string_view id, model::Phase phase) {
  ASSIGN_OR_RETURN(store::Session session, store_.sessions().Find(id), "changing the phase");
  RETURN_IF_ERROR(caller.MayActFor(session.requester));
  const absl::Time now = clock_.Now();
  const auto check = [&](const store::Session& row) -> absl::Status {
    RETURN_IF_ERROR(CheckLive(row, now));
    const bool forward = row.phase == model::Phase::kSetup && phase == model::Phase::kAgent;
    return forward ? absl::OkStatus() : Error(ErrorCode::kPhaseStep, row.id);
  };
  RETURN_IF_ERROR(check(session));
  const Cause cause{caller.actor, base::StrCat("phase ", model::PhaseName(phase))};
  RETURN_IF_ERROR(recorder_.Write(RecordOf(session, "session.phase", cause)), "changing the phase");
  const auto change = [&]() -> absl::StatusOr<RevocationChange> {
    ASSIGN_OR_RETURN(session, store_.sessions().Update(id, [&](store::Session& row) -> absl::Status {
      RETURN_IF_ERROR(check(row));
      row.phase = phase;
      row.state = StateOf(phase);
      row.last_used_at = now;
      return absl::OkStatus();
    }));
    RevocationChange fell;
    ASSIGN_OR_RETURN(fell.tokens, store_.tokens().RevokeSession(id, now));
    for (const std::string& token : fell.tokens) fell.rows.push_back(TokenRevocation(token, now, cause));
    return fell;
  };
  ASSIGN_OR_RETURN(Revoked revoked, revocations_.Commit(cause, change), "changing the phase");
  ASSIGN_OR_RETURN(IssuedToken token, tokens_.MintFirst(session, absl::ZeroDuration(), cause), "changing the phase");
  return SessionAndToken{std::move(session), std::move(token), std::move(revoked.tokens)};
}

absl::StatusOr<ClosedSession> Sessions::Close(const Caller& caller, std::string_view id, std::string_view reason) {
  ASSIGN_OR_RETURN(const store::Session session, store_.sessions().Find(id), "closing a session");
  if (!caller.roles.Meets(Roles::Of(Role::kAdmin, Role::kOperator)))
    RETURN_IF_ERROR(caller.MayActFor(session.requester));
  const std::string words = reason.empty() ? "closed" : base::EscapeText(reason, kMaxReason);
  return CloseFor(id, {.actor = caller.actor, .reason = words}, "session.close");
}

absl::StatusOr<ClosedSession> Sessions::CloseFor(std::string_view id, const Cause& cause, std::string_view action) {
  const absl::Time now = clock_.Now();
  ClosedSession closed;
  bool was_open = false;
  const auto change = [&]() -> absl::StatusOr<RevocationChange> {
    ASSIGN_OR_RETURN(closed.session, store_.sessions().Update(id, [&](store::Session& row) {
      was_open = row.state != SessionState::kClosed;
      if (!was_open) return absl::OkStatus();
      row.state = SessionState::kClosed;
      row.closed_at = now;
      row.close_reason = cause.reason;
      return absl::OkStatus();
    }));
    RevocationChange fell;
    if (!was_open) return fell;
    ASSIGN_OR_RETURN(fell.tokens, store_.tokens().RevokeSession(id, now));
    store::Revocation row = TokenRevocation(std::string(id), now, cause);
    row.kind = store::RevocationKind::kSession;
    fell.rows.push_back(std::move(row));
    return fell;
  };
  ASSIGN_OR_RETURN(Revoked revoked, revocations_.Commit(cause, change), "closing a session");
  closed.revoked_tokens = std::move(revoked.tokens);
  if (was_open) recorder_.WriteOrOwe(RecordOf(closed.session, action, cause));
  return closed;
}

void Sessions::Touch(std::string_view id, absl::Time used_at) {
  const absl::Status touched = store_.sessions().Touch(id, std::min(used_at, clock_.Now()));
  if (touched.ok() || base::CodeOf(touched) == ErrorCode::kSessionNotFound) return;
  LogEvent(Level::kWarning, "touch_failed", {{"session", std::string(id)}, {"error", std::string(touched.message())}});
}

int Sessions::Sweep() {
  const absl::Time now = clock_.Now();
  const auto live = store_.sessions().List({.live_only = true, .limit = 1'000'000});
  if (!live.ok()) {
    LogEvent(Level::kError, "sweep_failed", {{"error", std::string(live.status().message())}});
    return 0;
  }
  int closed = 0;
  for (const store::Session& session : *live) {
    const bool expired = now >= session.expires_at;
    if (!expired && !IsIdle(session, now)) continue;
    const Cause cause{.actor = "broker", .reason = expired ? "expired" : "idle"};
    const auto done = CloseFor(session.id, cause, expired ? "session.expire" : "session.idle");
    if (done.ok()) ++closed;
    if (!done.ok()) LogEvent(Level::kError, "sweep_failed", {{"session", session.id}});
  }
  return closed;
}

}  // namespace credbroker::control
