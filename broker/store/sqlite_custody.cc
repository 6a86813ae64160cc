#include "base/error.h"
#include "base/macros.h"
#include "store/sqlite_nouns.h"

namespace credbroker::store::sqlite {
namespace {

using base::Error;
using base::ErrorCode;

SecretRow ReadSecret(const Row& row) { return {row.Bytes(0), row.Bytes(1), row.Int(2), row.Time(3), row.Time(4)}; }
EdgeRow ReadEdge(const Row& row) { return {row.Bytes(0), row.Bytes(1), row.Time(2), row.Time(3)}; }

// One statement that must concern a row.
template <typename... Args>
absl::Status RunOnOne(Database& database, ErrorCode missing, std::string_view key, std::string_view sql,
                      const Args&... args) {
  return database.Write([&](Connection& connection) -> absl::Status {
    RETURN_IF_ERROR(connection.Run(sql, args...));
    return connection.changes() == 0 ? Error(missing, key) : absl::OkStatus();
  });
}

}  // namespace

absl::Status Secrets::Insert(const SecretRow& row) {
  return database_.Write([&](Connection& connection) {
    return connection.Run("INSERT INTO secrets VALUES (?, ?, ?, ?, ?)", row.name, Blob{row.sealed}, row.version,
                          row.created_at, row.rotated_at);
  });
}

absl::Status Secrets::Replace(const SecretRow& row) {
  return RunOnOne(database_, ErrorCode::kSecretNotFound, row.name,
                  "UPDATE secrets SET sealed = ?2, version = ?3, created_at = ?4, rotated_at = ?5 WHERE name = ?1",
                  row.name, Blob{row.sealed}, row.version, row.created_at, row.rotated_at);
}

absl::StatusOr<SecretRow> Secrets::Find(std::string_view name) {
  std::optional<SecretRow> found;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query(
        "SELECT name, sealed, version, created_at, rotated_at FROM secrets WHERE name = ?",
        [&](const Row& row) { found = ReadSecret(row); }, name);
  }));
  if (!found.has_value()) return Error(ErrorCode::kSecretNotFound, name);
  return *std::move(found);
}

absl::StatusOr<std::vector<SecretRow>> Secrets::List() {
  std::vector<SecretRow> rows;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query("SELECT name, sealed, version, created_at, rotated_at FROM secrets ORDER BY name",
                            [&](const Row& row) { rows.push_back(ReadSecret(row)); });
  }));
  return rows;
}

absl::Status Secrets::Delete(std::string_view name) {
  return RunOnOne(database_, ErrorCode::kSecretNotFound, name, "DELETE FROM secrets WHERE name = ?", name);
}

absl::Status Edges::Insert(const EdgeRow& row) {
  return database_.Write([&](Connection& connection) {
    return connection.Run("INSERT INTO edges VALUES (?, ?, ?, ?)", row.id, Blob{row.public_key}, row.enrolled_at,
                          row.last_seen_at);
  });
}

absl::StatusOr<EdgeRow> Edges::Find(std::string_view id) {
  std::optional<EdgeRow> found;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query(
        "SELECT id, public_key, enrolled_at, last_seen_at FROM edges WHERE id = ?",
        [&](const Row& row) { found = ReadEdge(row); }, id);
  }));
  if (!found.has_value()) return Error(ErrorCode::kEdgeNotFound, id);
  return *std::move(found);
}

absl::StatusOr<std::vector<EdgeRow>> Edges::List() {
  std::vector<EdgeRow> rows;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query("SELECT id, public_key, enrolled_at, last_seen_at FROM edges ORDER BY id",
                            [&](const Row& row) { rows.push_back(ReadEdge(row)); });
  }));
  return rows;
}

absl::Status Edges::Touch(std::string_view id, absl::Time seen_at) {
  return RunOnOne(database_, ErrorCode::kEdgeNotFound, id,
                  "UPDATE edges SET last_seen_at = max(last_seen_at, ?2) WHERE id = ?1", id, seen_at);
}

absl::Status Edges::Delete(std::string_view id) {
  return RunOnOne(database_, ErrorCode::kEdgeNotFound, id, "DELETE FROM edges WHERE id = ?", id);
}

absl::StatusOr<std::optional<std::string>> Meta::Get(std::string_view key) {
  std::optional<std::string> value;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query(
        "SELECT value FROM meta WHERE key = ?", [&](const Row& row) { value = row.Bytes(0); }, key);
  }));
  return value;
}

absl::Status Meta::Set(std::string_view key, std::string_view value) {
  return database_.Write([&](Connection& connection) {
    return connection.Run("INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key,
                          Blob{value});
  });
}

absl::Status Meta::Delete(std::string_view key) {
  return database_.Write([&](Connection& connection) { return connection.Run("DELETE FROM meta WHERE key = ?", key); });
}

absl::StatusOr<std::vector<std::string>> Meta::Keys(std::string_view prefix) {
  std::vector<std::string> keys;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query(
        "SELECT key FROM meta WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key",
        [&](const Row& row) { keys.push_back(row.Bytes(0)); }, prefix);
  }));
  return keys;
}

}  // namespace credbroker::store::sqlite
