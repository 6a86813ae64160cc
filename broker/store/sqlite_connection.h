#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

// Private to this room. Include only from store/sqlite_*.cc.
namespace credbroker::store::sqlite {

// Marks bytes that are no text.
struct Blob {
  std::string_view bytes;
};

// The current row of a query.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Bytes(int column) const;  // text or blob
  absl::Time Time(int column) const;
  std::optional<absl::Time> MaybeTime(int column) const;

 private:
  sqlite3_stmt* statement_;
};

// One connection with its prepared statements. Not thread-safe: Database guards it. SQL texts are literals: they are
// the keys of the statement cache.
class Connection {
 public:
  enum class Mode { kReadWrite, kReadOnly };
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& path, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Several statements without parameters.
  absl::Status Script(const char* sql);

  // One statement; `each` is called for each row of its answer: void(const Row&) or absl::Status(const Row&).
  template <typename Each, typename... Args>
  absl::Status Query(std::string_view sql, Each&& each, const Args&... args) {
    absl::StatusOr<sqlite3_stmt*> statement = Prepare(sql);
    if (!statement.ok()) return statement.status();
    const Reset reset{*statement};
    int index = 0;
    (Bind(*statement, ++index, args), ...);
    while (true) {
      const int result = sqlite3_step(*statement);
      if (result == SQLITE_DONE) return absl::OkStatus();
      if (result != SQLITE_ROW) return Failure();
      if constexpr (std::is_void_v<decltype(each(Row(*statement)))>) {
        each(Row(*statement));
      } else if (absl::Status status = each(Row(*statement)); !status.ok()) {
        return status;
      }
    }
  }

  // One statement that answers nothing.
  template <typename... Args>
  absl::Status Run(std::string_view sql, const Args&... args) {
    return Query(
        sql, [](const Row&) {}, args...);
  }

  int64_t changes() const { return sqlite3_changes64(handle_); }
  int64_t last_row_id() const { return sqlite3_last_insert_rowid(handle_); }

  // The last failure in words of the catalogue: kStoreConflict for constraints, kDiskFull, else kStoreUnavailable.
  absl::Status Failure() const;

 private:
  explicit Connection(sqlite3* handle) : handle_(handle) {}
  // An open statement would keep a read transaction, and the write-ahead log could not be emptied.
  struct Reset {
    sqlite3_stmt* statement;
    ~Reset() {
      sqlite3_reset(statement);
      sqlite3_clear_bindings(statement);
    }
  };

  absl::StatusOr<sqlite3_stmt*> Prepare(std::string_view sql);
  static void Bind(sqlite3_stmt* statement, int index, int64_t number);
  static void Bind(sqlite3_stmt* statement, int index, std::string_view text);
  static void Bind(sqlite3_stmt* statement, int index, const std::string& text);
  static void Bind(sqlite3_stmt* statement, int index, Blob blob);
  static void Bind(sqlite3_stmt* statement, int index, absl::Time time);
  static void Bind(sqlite3_stmt* statement, int index, const std::optional<absl::Time>& time);

  sqlite3* handle_;
  std::map<std::string_view, sqlite3_stmt*> statements_;
};

}  // namespace credbroker::store::sqlite
