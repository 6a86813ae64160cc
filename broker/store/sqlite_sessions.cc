#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "store/sqlite_nouns.h"

namespace credbroker::store::sqlite {
namespace {

constexpr std::string_view kFind =
    "SELECT id, requester, scopes, phase, state, label, ticket, sandbox, opened_at, expires_at, idle_limit, "
    "last_used_at, closed_at, close_reason FROM sessions WHERE id = ?";
constexpr std::string_view kList =
    "SELECT id, requester, scopes, phase, state, label, ticket, sandbox, opened_at, expires_at, idle_limit, "
    "last_used_at, closed_at, close_reason FROM sessions WHERE (?1 = '' OR requester = ?1) AND "
    "(?2 = 0 OR state <> 'closed') ORDER BY opened_at DESC, id DESC LIMIT ?3";
constexpr std::string_view kInsert = "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr std::string_view kUpdate =
    "UPDATE sessions SET requester = ?2, scopes = ?3, phase = ?4, state = ?5, label = ?6, ticket = ?7, sandbox = ?8, "
    "opened_at = ?9, expires_at = ?10, idle_limit = ?11, last_used_at = ?12, closed_at = ?13, close_reason = ?14 "
    "WHERE id = ?1";

absl::Status NotFound(std::string_view id) { return base::Error(base::ErrorCode::kSessionNotFound, id); }

absl::StatusOr<std::string> Join(const std::vector<std::string>& scopes) {
  std::string text;
  for (const std::string& scope : scopes) {
    if (scope.empty() || scope.find('\n') != std::string::npos) {
      return base::Error(base::ErrorCode::kBadArgument, "a scope's name is empty or holds a line feed");
    }
    base::StrAppend(&text, text.empty() ? "" : "\n", scope);
  }
  return text;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> scopes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    scopes.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return scopes;
}

absl::StatusOr<SessionState> ParseState(std::string_view text) {
  for (const SessionState state : {SessionState::kOpened, SessionState::kSetup, SessionState::kAgent,
                                   SessionState::kPaused, SessionState::kClosed}) {
    if (text == SessionStateName(state)) return state;
  }
  return base::Error(base::ErrorCode::kStoreUnavailable, "a session's row has an unknown state");
}

absl::StatusOr<Session> ReadSession(const Row& row) {
  Session session;
  session.id = row.Bytes(0);
  session.requester = row.Bytes(1);
  session.scopes = Split(row.Bytes(2));
  ASSIGN_OR_RETURN(session.phase, model::ParsePhase(row.Bytes(3)));
  ASSIGN_OR_RETURN(session.state, ParseState(row.Bytes(4)));
  ASSIGN_OR_RETURN(session.label, model::ParseLabel(row.Bytes(5)));
  session.ticket = row.Bytes(6);
  session.sandbox = row.Bytes(7);
  session.opened_at = row.Time(8);
  session.expires_at = row.Time(9);
  session.idle_limit = absl::Microseconds(row.Int(10));
  session.last_used_at = row.Time(11);
  session.closed_at = row.MaybeTime(12);
  session.close_reason = row.Bytes(13);
  return session;
}

absl::Status WriteSession(Connection& connection, std::string_view sql, const Session& session) {
  ASSIGN_OR_RETURN(const std::string scopes, Join(session.scopes));
  return connection.Run(
      sql, session.id, session.requester, scopes, model::PhaseName(session.phase), SessionStateName(session.state),
      model::LabelName(session.label), session.ticket, session.sandbox, session.opened_at, session.expires_at,
      absl::ToInt64Microseconds(session.idle_limit), session.last_used_at, session.closed_at, session.close_reason);
}

absl::StatusOr<Session> FindSession(Connection& connection, std::string_view id) {
  std::optional<Session> found;
  const auto read = [&](const Row& row) -> absl::Status {
    ASSIGN_OR_RETURN(found, ReadSession(row));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(connection.Query(kFind, read, id));
  if (!found.has_value()) return NotFound(id);
  return *std::move(found);
}

}  // namespace

absl::Status Sessions::Insert(const Session& session) {
  return database_.Write([&](Connection& connection) { return WriteSession(connection, kInsert, session); });
}

absl::StatusOr<Session> Sessions::Find(std::string_view id) {
  return database_.ReadFor([&](Connection& connection) { return FindSession(connection, id); });
}

absl::StatusOr<std::vector<Session>> Sessions::List(const SessionFilter& filter) {
  return database_.ReadFor([&](Connection& connection) -> absl::StatusOr<std::vector<Session>> {
    std::vector<Session> sessions;
    const auto read = [&](const Row& row) -> absl::Status {
      ASSIGN_OR_RETURN(Session session, ReadSession(row));
      sessions.push_back(std::move(session));
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(connection.Query(kList, read, filter.requester, int64_t{filter.live_only}, filter.limit));
    return sessions;
  });
}

absl::StatusOr<Session> Sessions::Update(std::string_view id, const std::function<absl::Status(Session&)>& change) {
  return database_.WriteFor([&](Connection& connection) -> absl::StatusOr<Session> {
    ASSIGN_OR_RETURN(Session session, FindSession(connection, id));
    RETURN_IF_ERROR(change(session));
    session.id = id;
    RETURN_IF_ERROR(WriteSession(connection, kUpdate, session));
    return session;
  });
}

absl::Status Sessions::Touch(std::string_view id, absl::Time used_at) {
  return database_.Write([&](Connection& connection) -> absl::Status {
    RETURN_IF_ERROR(
        connection.Run("UPDATE sessions SET last_used_at = max(last_used_at, ?2) WHERE id = ?1", id, used_at));
    return connection.changes() == 0 ? NotFound(id) : absl::OkStatus();
  });
}

absl::StatusOr<int64_t> Sessions::Prune(absl::Time before) {
  return database_.WriteFor([&](Connection& connection) -> absl::StatusOr<int64_t> {
    RETURN_IF_ERROR(connection.Run("DELETE FROM sessions WHERE state = 'closed' AND closed_at < ?", before));
    return connection.changes();
  });
}

}  // namespace credbroker::store::sqlite
