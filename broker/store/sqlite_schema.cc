#include "store/sqlite_schema.h"

#include <iterator>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::store::sqlite {
namespace {

// Step N brings version N-1 to N. A step that was released is never edited: append another.
constexpr const char* kSteps[] = {
    R"sql(
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, requester TEXT NOT NULL, scopes TEXT NOT NULL, phase TEXT NOT NULL, state TEXT NOT NULL,
  label TEXT NOT NULL, ticket TEXT NOT NULL, sandbox TEXT NOT NULL, opened_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, idle_limit INTEGER NOT NULL, last_used_at INTEGER NOT NULL, closed_at INTEGER,
  close_reason TEXT NOT NULL) STRICT;
CREATE INDEX sessions_by_time ON sessions (opened_at);
CREATE INDEX sessions_by_requester ON sessions (requester, opened_at);
CREATE TABLE tokens (
  id TEXT PRIMARY KEY, parent_id TEXT NOT NULL, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  label TEXT NOT NULL, phase TEXT NOT NULL, narrowing TEXT NOT NULL, issued_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, revoked_at INTEGER) STRICT;
CREATE INDEX tokens_by_session ON tokens (session, issued_at);
CREATE INDEX tokens_by_parent ON tokens (parent_id) WHERE parent_id <> '';
CREATE TABLE revocations (
  serial INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, value TEXT NOT NULL, at INTEGER NOT NULL,
  actor TEXT NOT NULL, reason TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
CREATE TABLE policies (
  version INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL, text TEXT NOT NULL, author TEXT NOT NULL,
  applied_at INTEGER NOT NULL, comment TEXT NOT NULL) STRICT;
CREATE TABLE exception_uses (
  exception TEXT PRIMARY KEY, count INTEGER NOT NULL, last_used_at INTEGER NOT NULL) STRICT;
CREATE TABLE secrets (
  name TEXT PRIMARY KEY, sealed BLOB NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL,
  rotated_at INTEGER NOT NULL) STRICT;
CREATE TABLE edges (
  id TEXT PRIMARY KEY, public_key BLOB NOT NULL UNIQUE, enrolled_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL) STRICT;
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
)sql",
};
constexpr int64_t kNewest = std::size(kSteps);

}  // namespace

absl::Status Migrate(Database& database, absl::Time now) {
  return database.Write([&](Connection& connection) -> absl::Status {
    RETURN_IF_ERROR(
        connection.Script("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, "
                          "applied_at INTEGER NOT NULL) STRICT"));
    int64_t version = 0;
    RETURN_IF_ERROR(connection.Query("SELECT coalesce(max(version), 0) FROM schema_version",
                                     [&](const Row& row) { version = row.Int(0); }));
    if (version > kNewest) {
      return base::Error(base::ErrorCode::kStoreTooNew, base::StrCat("schema ", version, ", known up to ", kNewest));
    }
    for (; version < kNewest; ++version) {
      RETURN_IF_ERROR(connection.Script(kSteps[version]), base::StrCat("migrating to schema ", version + 1));
      RETURN_IF_ERROR(connection.Run("INSERT INTO schema_version VALUES (?, ?)", version + 1, now));
    }
    return absl::OkStatus();
  });
}

}  // namespace credbroker::store::sqlite
