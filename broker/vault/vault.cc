#include "vault/vault.h"

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "crypto/random.h"
#include "reveal/secret_reveal.h"
#include "vault/envelope.h"

namespace credbroker::vault {
namespace {

using base::Error;
using base::ErrorCode;

constexpr char kSaltKey[] = "vault.salt";
// Opens under the master key that the rows are sealed with, and under no other.
constexpr char kCheckKey[] = "vault.check";
constexpr char kSystemPrefix[] = "vault.key.";
constexpr std::size_t kSaltBytes = 16;

absl::Status CheckName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  const bool good = !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed);
  return good ? absl::OkStatus() : Error(ErrorCode::kBadName, base::EscapeText(name, 80));
}

std::string SecretLabel(std::string_view name, int64_t version) { return base::StrCat("secret:", name, ":", version); }

SecretInfo InfoOf(const store::SecretRow& row) { return {row.name, row.version, row.created_at, row.rotated_at}; }

std::string SealCheck(const crypto::SealKey& master) {
  return crypto::Seal(master, base::Secret::Copy("credbroker"), kCheckKey);
}

bool OpensCheck(const crypto::SealKey& master, std::string_view check) {
  return crypto::Open(master, check, kCheckKey).ok();
}

absl::StatusOr<std::string> RequireMeta(store::Store& store, const std::string& key) {
  ASSIGN_OR_RETURN(std::optional<std::string> value, store.meta().Get(key));
  if (!value.has_value()) return Error(ErrorCode::kSealBroken, base::StrCat("no row ", key));
  return *std::move(value);
}

}  // namespace

Vault::Vault(store::Store& store, const base::Clock& clock, crypto::SealKey master)
    : store_(store), clock_(clock), masters_{std::make_shared<const crypto::SealKey>(std::move(master)), nullptr} {}

absl::StatusOr<std::unique_ptr<Vault>> Vault::Open(store::Store& store, const MasterKeySource& source,
                                                   const base::Clock& clock) {
  std::optional<crypto::SealKey> master;
  const auto load = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::optional<std::string> check, store.meta().Get(kCheckKey));
    if (check.has_value()) {
      ASSIGN_OR_RETURN(const std::string salt, RequireMeta(store, kSaltKey));
      ASSIGN_OR_RETURN(master, source.Load(salt, FirstStart::kNo));
      return OpensCheck(*master, *check) ? absl::OkStatus() : Error(ErrorCode::kSealBroken, "another master key");
    }
    const std::string salt = crypto::RandomBytes(kSaltBytes);
    ASSIGN_OR_RETURN(master, source.Load(salt, FirstStart::kYes));
    RETURN_IF_ERROR(store.meta().Set(kSaltKey, salt));
    return store.meta().Set(kCheckKey, SealCheck(*master));
  };
  RETURN_IF_ERROR(store.InTransaction(load), "opening the vault");
  return std::unique_ptr<Vault>(new Vault(store, clock, *std::move(master)));
}

Vault::Masters Vault::masters() const {
  const std::lock_guard lock(masters_mutex_);
  return masters_;
}

void Vault::SetMasters(Masters masters) {
  const std::lock_guard lock(masters_mutex_);
  masters_ = std::move(masters);
}

// For use in a transaction: whether a Rewrap just before it was committed is read from the store itself.
absl::StatusOr<std::shared_ptr<const crypto::SealKey>> Vault::MasterInForce() const {
  ASSIGN_OR_RETURN(const std::string check, RequireMeta(store_, kCheckKey));
  const Masters keys = masters();
  for (const auto& key : {keys.current, keys.next}) {
    if (key != nullptr && OpensCheck(*key, check)) return key;
  }
  return Error(ErrorCode::kSealBroken, "the store was sealed by another process");
}

absl::StatusOr<SecretInfo> Vault::Write(std::string_view name, const base::Secret& value, bool must_exist) {
  RETURN_IF_ERROR(CheckName(name));
  ASSIGN_OR_RETURN(const base::Secret clean, CleanSecret(value), base::StrCat("secret ", name));
  store::SecretRow row;
  const auto write = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto master, MasterInForce());
    absl::StatusOr<store::SecretRow> old = store_.secrets().Find(name);
    const bool missing = base::CodeOf(old.status()) == ErrorCode::kSecretNotFound;
    if (!old.ok() && (must_exist || !missing)) return old.status();
    row.name = name;
    row.version = old.ok() ? old->version + 1 : 1;
    row.rotated_at = clock_.Now();
    row.created_at = old.ok() ? old->created_at : row.rotated_at;
    row.sealed = SealEnvelope(*master, clean, SecretLabel(name, row.version));
    return old.ok() ? store_.secrets().Replace(row) : store_.secrets().Insert(row);
  };
  RETURN_IF_ERROR(store_.InTransaction(write), base::StrCat("keeping secret ", name));
  return InfoOf(row);
}

absl::StatusOr<SecretInfo> Vault::Put(std::string_view name, const base::Secret& value) {
  return Write(name, value, /*must_exist=*/false);
}

absl::StatusOr<SecretInfo> Vault::Rotate(std::string_view name, const base::Secret& value) {
  return Write(name, value, /*must_exist=*/true);
}

absl::Status Vault::Delete(std::string_view name) {
  RETURN_IF_ERROR(CheckName(name));
  return store_.secrets().Delete(name);
}

absl::StatusOr<SecretInfo> Vault::Find(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  ASSIGN_OR_RETURN(const store::SecretRow row, store_.secrets().Find(name));
  return InfoOf(row);
}

absl::StatusOr<std::vector<SecretInfo>> Vault::List() const {
  ASSIGN_OR_RETURN(const std::vector<store::SecretRow> rows, store_.secrets().List());
  std::vector<SecretInfo> infos;
  for (const store::SecretRow& row : rows) infos.push_back(InfoOf(row));
  return infos;
}

absl::StatusOr<base::Secret> Vault::Lend(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  absl::Status status;
  // Twice: a Rewrap may come between reading the row and taking the keys.
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSIGN_OR_RETURN(const store::SecretRow row, store_.secrets().Find(name));
    const Masters keys = masters();
    for (const auto& key : {keys.current, keys.next}) {
      if (key == nullptr) continue;
      absl::StatusOr<base::Secret> value = OpenEnvelope(*key, row.sealed, SecretLabel(name, row.version));
      if (value.ok()) return value;
      status = value.status();
    }
  }
  return base::WithContext(status, base::StrCat("opening secret ", name));
}

absl::StatusOr<base::Secret> Vault::SystemKey(std::string_view name,
                                              const std::function<absl::StatusOr<base::Secret>()>& generate) {
  RETURN_IF_ERROR(CheckName(name));
  const std::string key = base::StrCat(kSystemPrefix, name);
  base::Secret value;
  const auto fetch = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto master, MasterInForce());
    ASSIGN_OR_RETURN(const std::optional<std::string> sealed, store_.meta().Get(key));
    if (sealed.has_value()) {
      ASSIGN_OR_RETURN(value, OpenEnvelope(*master, *sealed, key));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(value, generate());
    return store_.meta().Set(key, SealEnvelope(*master, value, key));
  };
  RETURN_IF_ERROR(store_.InTransaction(fetch), base::StrCat("system key ", name));
  return value;
}

absl::Status Vault::SetSystemKey(std::string_view name, const base::Secret& value) {
  RETURN_IF_ERROR(CheckName(name));
  if (value.empty()) return Error(ErrorCode::kSecretInvalid, "it is empty");
  const std::string key = base::StrCat(kSystemPrefix, name);
  return store_.InTransaction([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto master, MasterInForce());
    return store_.meta().Set(key, SealEnvelope(*master, value, key));
  });
}

absl::Status Vault::RewrapRows(const crypto::SealKey& from, const crypto::SealKey& to) {
  ASSIGN_OR_RETURN(const std::vector<store::SecretRow> rows, store_.secrets().List());
  for (store::SecretRow row : rows) {
    ASSIGN_OR_RETURN(row.sealed, RewrapEnvelope(from, to, row.sealed, SecretLabel(row.name, row.version)),
                     base::StrCat("secret ", row.name));
    RETURN_IF_ERROR(store_.secrets().Replace(row));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> keys, store_.meta().Keys(kSystemPrefix));
  for (const std::string& key : keys) {
    ASSIGN_OR_RETURN(const std::string sealed, RequireMeta(store_, key));
    ASSIGN_OR_RETURN(const std::string rewrapped, RewrapEnvelope(from, to, sealed, key), key);
    RETURN_IF_ERROR(store_.meta().Set(key, rewrapped));
  }
  return store_.meta().Set(kCheckKey, SealCheck(to));
}

absl::Status Vault::Rewrap(const MasterKeySource& source) {
  const std::lock_guard lock(rewrap_mutex_);
  ASSIGN_OR_RETURN(const std::string salt, RequireMeta(store_, kSaltKey));
  ASSIGN_OR_RETURN(crypto::SealKey loaded, source.Load(salt, FirstStart::kYes), "the new master key");
  const auto current = masters().current;
  const auto next = std::make_shared<const crypto::SealKey>(std::move(loaded));
  SetMasters({current, next});
  absl::Status status = store_.InTransaction([&] { return RewrapRows(*current, *next); });
  SetMasters({status.ok() ? next : current, nullptr});
  return base::WithContext(std::move(status), "sealing anew");
}

}  // namespace credbroker::vault
