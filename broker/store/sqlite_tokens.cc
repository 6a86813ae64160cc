#include "base/error.h"
#include "base/macros.h"
#include "store/sqlite_nouns.h"

namespace credbroker::store::sqlite {
namespace {

constexpr std::string_view kFind =
    "SELECT id, parent_id, session, label, phase, narrowing, issued_at, expires_at, revoked_at FROM tokens WHERE id = "
    "?";
constexpr std::string_view kOfSession =
    "SELECT id, parent_id, session, label, phase, narrowing, issued_at, expires_at, revoked_at FROM tokens "
    "WHERE session = ? ORDER BY issued_at DESC, rowid DESC";
constexpr std::string_view kRevokeTree =
    "WITH RECURSIVE tree (id) AS (SELECT ?1 UNION SELECT tokens.id FROM tokens JOIN tree ON "
    "tokens.parent_id = tree.id AND tokens.parent_id <> '') "
    "UPDATE tokens SET revoked_at = ?2 WHERE revoked_at IS NULL AND id IN (SELECT id FROM tree) RETURNING id";
constexpr std::string_view kRevokeSession =
    "UPDATE tokens SET revoked_at = ?2 WHERE revoked_at IS NULL AND session = ?1 RETURNING id";

absl::StatusOr<TokenRow> ReadToken(const Row& row) {
  TokenRow token;
  token.id = row.Bytes(0);
  token.parent_id = row.Bytes(1);
  token.session = row.Bytes(2);
  ASSIGN_OR_RETURN(token.label, model::ParseLabel(row.Bytes(3)));
  ASSIGN_OR_RETURN(token.phase, model::ParsePhase(row.Bytes(4)));
  token.narrowing_json = row.Bytes(5);
  token.issued_at = row.Time(6);
  token.expires_at = row.Time(7);
  token.revoked_at = row.MaybeTime(8);
  return token;
}

absl::StatusOr<std::vector<TokenRow>> ReadTokens(Connection& connection, std::string_view sql, std::string_view key) {
  std::vector<TokenRow> tokens;
  const auto read = [&](const Row& row) -> absl::Status {
    ASSIGN_OR_RETURN(TokenRow token, ReadToken(row));
    tokens.push_back(std::move(token));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(connection.Query(sql, read, key));
  return tokens;
}

absl::StatusOr<RevocationKind> ParseKind(std::string_view text) {
  for (const RevocationKind kind :
       {RevocationKind::kToken, RevocationKind::kSession, RevocationKind::kScope, RevocationKind::kRepository,
        RevocationKind::kCredential, RevocationKind::kSandbox, RevocationKind::kKey, RevocationKind::kAll}) {
    if (text == RevocationKindName(kind)) return kind;
  }
  return base::Error(base::ErrorCode::kStoreUnavailable, "a revocation's row has an unknown kind");
}

}  // namespace

absl::Status Tokens::Insert(const TokenRow& token) {
  return database_.Write([&](Connection& connection) {
    return connection.Run("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", token.id, token.parent_id,
                          token.session, model::LabelName(token.label), model::PhaseName(token.phase),
                          token.narrowing_json, token.issued_at, token.expires_at, token.revoked_at);
  });
}

absl::StatusOr<TokenRow> Tokens::Find(std::string_view id) {
  return database_.ReadFor([&](Connection& connection) -> absl::StatusOr<TokenRow> {
    ASSIGN_OR_RETURN(std::vector<TokenRow> found, ReadTokens(connection, kFind, id));
    if (found.empty()) return base::Error(base::ErrorCode::kTokenNotFound, id);
    return std::move(found.front());
  });
}

absl::StatusOr<std::vector<TokenRow>> Tokens::ListOfSession(std::string_view session) {
  return database_.ReadFor([&](Connection& connection) { return ReadTokens(connection, kOfSession, session); });
}

absl::StatusOr<std::vector<std::string>> Tokens::Revoke(std::string_view id, absl::Time at) {
  return database_.WriteFor([&](Connection& connection) -> absl::StatusOr<std::vector<std::string>> {
    ASSIGN_OR_RETURN(const std::vector<TokenRow> known, ReadTokens(connection, kFind, id));
    if (known.empty()) return base::Error(base::ErrorCode::kTokenNotFound, id);
    std::vector<std::string> revoked;
    const auto read = [&](const Row& row) { revoked.push_back(row.Bytes(0)); };
    RETURN_IF_ERROR(connection.Query(kRevokeTree, read, id, at));
    return revoked;
  });
}

absl::StatusOr<std::vector<std::string>> Tokens::RevokeSession(std::string_view session, absl::Time at) {
  return database_.WriteFor([&](Connection& connection) -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> revoked;
    const auto read = [&](const Row& row) { revoked.push_back(row.Bytes(0)); };
    RETURN_IF_ERROR(connection.Query(kRevokeSession, read, session, at));
    return revoked;
  });
}

absl::StatusOr<int64_t> Revocations::Add(const Revocation& revocation) {
  return database_.WriteFor([&](Connection& connection) -> absl::StatusOr<int64_t> {
    RETURN_IF_ERROR(
        connection.Run("INSERT INTO revocations (kind, value, at, actor, reason, until) VALUES (?, ?, ?, ?, ?, ?)",
                       RevocationKindName(revocation.kind), revocation.value, revocation.at, revocation.by,
                       revocation.reason, revocation.until));
    return connection.last_row_id();
  });
}

absl::StatusOr<std::vector<Revocation>> Revocations::Since(int64_t serial) {
  return database_.ReadFor([&](Connection& connection) -> absl::StatusOr<std::vector<Revocation>> {
    std::vector<Revocation> revocations;
    const auto read = [&](const Row& row) -> absl::Status {
      ASSIGN_OR_RETURN(const RevocationKind kind, ParseKind(row.Bytes(1)));
      revocations.push_back({row.Int(0), kind, row.Bytes(2), row.Time(3), row.Bytes(4), row.Bytes(5), row.Time(6)});
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(connection.Query(
        "SELECT serial, kind, value, at, actor, reason, until FROM revocations WHERE serial > ? ORDER BY serial", read,
        serial));
    return revocations;
  });
}

absl::StatusOr<int64_t> Revocations::LatestSerial() {
  return database_.ReadFor([&](Connection& connection) -> absl::StatusOr<int64_t> {
    int64_t serial = 0;
    RETURN_IF_ERROR(connection.Query("SELECT seq FROM sqlite_sequence WHERE name = 'revocations'",
                                     [&](const Row& row) { serial = row.Int(0); }));
    return serial;
  });
}

absl::StatusOr<int64_t> Revocations::Prune(absl::Time now) {
  return database_.WriteFor([&](Connection& connection) -> absl::StatusOr<int64_t> {
    RETURN_IF_ERROR(connection.Run("DELETE FROM revocations WHERE until < ?", now));
    return connection.changes();
  });
}

}  // namespace credbroker::store::sqlite
