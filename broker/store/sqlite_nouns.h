#pragma once

#include "store/sqlite_database.h"
#include "store/store.h"

// Private to this room: the interfaces over SQLite. Include only from store/sqlite_*.cc.
namespace credbroker::store::sqlite {

class Sessions final : public SessionStore {
 public:
  explicit Sessions(Database& database) : database_(database) {}
  absl::Status Insert(const Session& session) override;
  absl::StatusOr<Session> Find(std::string_view id) override;
  absl::StatusOr<std::vector<Session>> List(const SessionFilter& filter) override;
  absl::StatusOr<Session> Update(std::string_view id, const std::function<absl::Status(Session&)>& change) override;
  absl::Status Touch(std::string_view id, absl::Time used_at) override;
  absl::StatusOr<int64_t> Prune(absl::Time before) override;

 private:
  Database& database_;
};

class Tokens final : public TokenStore {
 public:
  explicit Tokens(Database& database) : database_(database) {}
  absl::Status Insert(const TokenRow& token) override;
  absl::StatusOr<TokenRow> Find(std::string_view id) override;
  absl::StatusOr<std::vector<TokenRow>> ListOfSession(std::string_view session) override;
  absl::StatusOr<std::vector<std::string>> Revoke(std::string_view id, absl::Time at) override;
  absl::StatusOr<std::vector<std::string>> RevokeSession(std::string_view session, absl::Time at) override;

 private:
  Database& database_;
};

class Revocations final : public RevocationStore {
 public:
  explicit Revocations(Database& database) : database_(database) {}
  absl::StatusOr<int64_t> Add(const Revocation& revocation) override;
  absl::StatusOr<std::vector<Revocation>> Since(int64_t serial) override;
  absl::StatusOr<int64_t> LatestSerial() override;
  absl::StatusOr<int64_t> Prune(absl::Time now) override;

 private:
  Database& database_;
};

class Policies final : public PolicyStore {
 public:
  explicit Policies(Database& database) : database_(database) {}
  absl::StatusOr<int64_t> Append(const PolicyVersion& policy) override;
  absl::StatusOr<std::optional<PolicyVersion>> Current() override;
  absl::StatusOr<PolicyVersion> Find(int64_t version) override;
  absl::StatusOr<std::vector<PolicyVersion>> List(int64_t limit) override;

 private:
  Database& database_;
};

class ExceptionUses final : public ExceptionUseStore {
 public:
  explicit ExceptionUses(Database& database) : database_(database) {}
  absl::Status Add(std::string_view exception, int64_t count, absl::Time used_at) override;
  absl::StatusOr<std::vector<ExceptionUse>> List() override;

 private:
  Database& database_;
};

class Secrets final : public SecretStore {
 public:
  explicit Secrets(Database& database) : database_(database) {}
  absl::Status Insert(const SecretRow& row) override;
  absl::Status Replace(const SecretRow& row) override;
  absl::StatusOr<SecretRow> Find(std::string_view name) override;
  absl::StatusOr<std::vector<SecretRow>> List() override;
  absl::Status Delete(std::string_view name) override;

 private:
  Database& database_;
};

class Edges final : public EdgeStore {
 public:
  explicit Edges(Database& database) : database_(database) {}
  absl::Status Insert(const EdgeRow& row) override;
  absl::StatusOr<EdgeRow> Find(std::string_view id) override;
  absl::StatusOr<std::vector<EdgeRow>> List() override;
  absl::Status Touch(std::string_view id, absl::Time seen_at) override;
  absl::Status Delete(std::string_view id) override;

 private:
  Database& database_;
};

class Meta final : public MetaStore {
 public:
  explicit Meta(Database& database) : database_(database) {}
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override;
  absl::Status Set(std::string_view key, std::string_view value) override;
  absl::Status Delete(std::string_view key) override;
  absl::StatusOr<std::vector<std::string>> Keys(std::string_view prefix) override;

 private:
  Database& database_;
};

}  // namespace credbroker::store::sqlite
