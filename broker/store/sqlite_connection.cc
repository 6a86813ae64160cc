#include "store/sqlite_connection.h"

#include <limits>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::store::sqlite {
namespace {

constexpr int kBusyMilliseconds = 5000;
constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

int64_t ToMicros(absl::Time time) {
  if (time == absl::InfiniteFuture()) return kForever;
  if (time == absl::InfinitePast()) return kNever;
  return absl::ToUnixMicros(time);
}

absl::Time FromMicros(int64_t micros) {
  if (micros == kForever) return absl::InfiniteFuture();
  if (micros == kNever) return absl::InfinitePast();
  return absl::FromUnixMicros(micros);
}

constexpr char kSettings[] =
    "PRAGMA journal_mode = WAL;"
    // FULL: a token is handed out only after its row is on disk, a revocation is acknowledged only then.
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;"
    "PRAGMA secure_delete = ON;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA temp_store = MEMORY;";

}  // namespace

std::string Row::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return size == 0 ? std::string() : std::string(static_cast<const char*>(data), size);
}

absl::Time Row::Time(int column) const { return FromMicros(Int(column)); }

std::optional<absl::Time> Row::MaybeTime(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return Time(column);
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path, Mode mode) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Connection> connection(new Connection(handle));
  if (result != SQLITE_OK) return connection->Failure();
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  RETURN_IF_ERROR(connection->Script(kSettings), "setting the database up");
  if (mode == Mode::kReadOnly) RETURN_IF_ERROR(connection->Script("PRAGMA query_only = ON;"));
  return connection;
}

Connection::~Connection() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

absl::Status Connection::Script(const char* sql) {
  return sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? absl::OkStatus() : Failure();
}

absl::Status Connection::Failure() const {
  const int code = sqlite3_errcode(handle_) & 0xff;
  // SQLite's words name tables and columns, never values.
  const std::string detail = sqlite3_errmsg(handle_);
  if (code == SQLITE_CONSTRAINT) return base::Error(base::ErrorCode::kStoreConflict, detail);
  if (code == SQLITE_FULL) return base::Error(base::ErrorCode::kDiskFull, detail);
  return base::Error(base::ErrorCode::kStoreUnavailable, detail);
}

absl::StatusOr<sqlite3_stmt*> Connection::Prepare(std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) return found->second;
  sqlite3_stmt* statement = nullptr;
  const int size = static_cast<int>(sql.size());
  if (sqlite3_prepare_v3(handle_, sql.data(), size, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return Failure();
  }
  statements_.emplace(sql, statement);
  return statement;
}

void Connection::Bind(sqlite3_stmt* statement, int index, int64_t number) {
  sqlite3_bind_int64(statement, index, number);
}

void Connection::Bind(sqlite3_stmt* statement, int index, std::string_view text) {
  // Static is right: arguments live until the statement is reset. A null pointer would bind NULL.
  sqlite3_bind_text64(statement, index, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

void Connection::Bind(sqlite3_stmt* statement, int index, const std::string& text) {
  Bind(statement, index, std::string_view(text));
}

void Connection::Bind(sqlite3_stmt* statement, int index, Blob blob) {
  sqlite3_bind_blob64(statement, index, blob.bytes.data() == nullptr ? "" : blob.bytes.data(), blob.bytes.size(),
                      SQLITE_STATIC);
}

void Connection::Bind(sqlite3_stmt* statement, int index, absl::Time time) { Bind(statement, index, ToMicros(time)); }

void Connection::Bind(sqlite3_stmt* statement, int index, const std::optional<absl::Time>& time) {
  if (time.has_value()) {
    Bind(statement, index, *time);
    return;
  }
  sqlite3_bind_null(statement, index);
}

}  // namespace credbroker::store::sqlite
