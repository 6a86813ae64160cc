#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "store/sqlite_nouns.h"

namespace credbroker::store::sqlite {
namespace {

PolicyVersion ReadPolicy(const Row& row) {
  return {row.Int(0), row.Bytes(1), row.Bytes(2), row.Bytes(3), row.Time(4), row.Bytes(5)};
}

}  // namespace

absl::StatusOr<int64_t> Policies::Append(const PolicyVersion& policy) {
  return database_.WriteFor([&](Connection& connection) -> absl::StatusOr<int64_t> {
    RETURN_IF_ERROR(
        connection.Run("INSERT INTO policies (digest, text, author, applied_at, comment) VALUES (?, ?, ?, ?, ?)",
                       policy.digest, policy.text, policy.author, policy.applied_at, policy.comment));
    return connection.last_row_id();
  });
}

absl::StatusOr<std::optional<PolicyVersion>> Policies::Current() {
  std::optional<PolicyVersion> current;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query(
        "SELECT version, digest, text, author, applied_at, comment FROM policies ORDER BY version DESC LIMIT 1",
        [&](const Row& row) { current = ReadPolicy(row); });
  }));
  return current;
}

absl::StatusOr<PolicyVersion> Policies::Find(int64_t version) {
  std::optional<PolicyVersion> found;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query(
        "SELECT version, digest, text, author, applied_at, comment FROM policies WHERE version = ?",
        [&](const Row& row) { found = ReadPolicy(row); }, version);
  }));
  if (!found.has_value()) return base::Error(base::ErrorCode::kPolicyNotFound, base::StrCat(version));
  return *std::move(found);
}

absl::StatusOr<std::vector<PolicyVersion>> Policies::List(int64_t limit) {
  std::vector<PolicyVersion> versions;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query(
        "SELECT version, digest, '', author, applied_at, comment FROM policies ORDER BY version DESC LIMIT ?",
        [&](const Row& row) { versions.push_back(ReadPolicy(row)); }, limit);
  }));
  return versions;
}

absl::Status ExceptionUses::Add(std::string_view exception, int64_t count, absl::Time used_at) {
  return database_.Write([&](Connection& connection) {
    return connection.Run(
        "INSERT INTO exception_uses VALUES (?, ?, ?) ON CONFLICT (exception) DO UPDATE SET "
        "count = count + excluded.count, last_used_at = max(last_used_at, excluded.last_used_at)",
        exception, count, used_at);
  });
}

absl::StatusOr<std::vector<ExceptionUse>> ExceptionUses::List() {
  std::vector<ExceptionUse> uses;
  RETURN_IF_ERROR(database_.Read([&](Connection& connection) {
    return connection.Query("SELECT exception, count, last_used_at FROM exception_uses ORDER BY exception",
                            [&](const Row& row) {
                              uses.push_back({row.Bytes(0), row.Int(1), row.Time(2)});
                            });
  }));
  return uses;
}

}  // namespace credbroker::store::sqlite
