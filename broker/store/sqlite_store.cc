#include "base/error.h"
#include "base/macros.h"
#include "store/sqlite.h"
#include "store/sqlite_nouns.h"
#include "store/sqlite_schema.h"

namespace credbroker::store {
namespace {

constexpr char kProbe[] = "store.probe";

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(std::unique_ptr<sqlite::Database> database) : database_(std::move(database)) {}

  SessionStore& sessions() override { return sessions_; }
  TokenStore& tokens() override { return tokens_; }
  RevocationStore& revocations() override { return revocations_; }
  PolicyStore& policies() override { return policies_; }
  ExceptionUseStore& exception_uses() override { return exception_uses_; }
  SecretStore& secrets() override { return secrets_; }
  EdgeStore& edges() override { return edges_; }
  MetaStore& meta() override { return meta_; }

  absl::Status InTransaction(const std::function<absl::Status()>& body) override {
    return database_->Write([&](sqlite::Connection&) { return body(); });
  }

  // Only a committed write shows a full or read-only disk.
  absl::Status CheckWritable() override { return meta_.Set(kProbe, "1"); }

 private:
  std::unique_ptr<sqlite::Database> database_;
  sqlite::Sessions sessions_{*database_};
  sqlite::Tokens tokens_{*database_};
  sqlite::Revocations revocations_{*database_};
  sqlite::Policies policies_{*database_};
  sqlite::ExceptionUses exception_uses_{*database_};
  sqlite::Secrets secrets_{*database_};
  sqlite::Edges edges_{*database_};
  sqlite::Meta meta_{*database_};
};

// A damaged file is noticed at the start, not when the damaged page is needed.
absl::Status CheckPages(sqlite::Connection& connection) {
  std::string verdict;
  RETURN_IF_ERROR(connection.Query("PRAGMA quick_check(1)", [&](const sqlite::Row& row) { verdict = row.Bytes(0); }));
  return verdict == "ok" ? absl::OkStatus() : base::Error(base::ErrorCode::kStoreUnavailable, verdict);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqlite(const std::string& path, const base::Clock& clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<sqlite::Database> database, sqlite::Database::Open(path), "opening the store");
  RETURN_IF_ERROR(database->Read(&CheckPages), "checking the store");
  RETURN_IF_ERROR(sqlite::Migrate(*database, clock.Now()), "opening the store");
  return std::make_unique<SqliteStore>(std::move(database));
}

}  // namespace credbroker::store
