#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/secret.h"
#include "crypto/seal.h"
#include "store/store.h"
#include "vault/master_key.h"

namespace credbroker::vault {

inline constexpr std::size_t kMaxSecretBytes = 64 * 1024;

// What may be told about a secret. Never its value.
struct SecretInfo {
  std::string name;
  int64_t version = 0;
  absl::Time created_at;
  absl::Time rotated_at;
};

// Custody: secrets sealed at rest, each under a data key of its own, which is sealed under the master key; bound to
// name and version, so that a sealed value cannot pass for another. Thread-safe.
class Vault {
 public:
  // `store` and `clock` must outlive the vault. On the first start the master key may be made by `source`; later it
  // must be there. Fails kSealBroken when it is gone or another one; as the source and the store otherwise.
  static absl::StatusOr<std::unique_ptr<Vault>> Open(store::Store& store, const MasterKeySource& source,
                                                     const base::Clock& clock = base::SystemClock());

  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;

  // Puts a new secret, or a new version of one. Names: [a-z0-9._-]{1,64}, otherwise kBadName. For the value see
  // CleanSecret: kSecretInvalid, kTooLarge.
  absl::StatusOr<SecretInfo> Put(std::string_view name, const base::Secret& value);
  // A new version of a secret that must exist. Fails kSecretNotFound; as Put otherwise.
  absl::StatusOr<SecretInfo> Rotate(std::string_view name, const base::Secret& value);
  absl::Status Delete(std::string_view name);  // kSecretNotFound

  absl::StatusOr<SecretInfo> Find(std::string_view name) const;  // kSecretNotFound
  // By name.
  absl::StatusOr<std::vector<SecretInfo>> List() const;

  // The value of the newest version. Fails kSecretNotFound, kSealBroken.
  absl::StatusOr<base::Secret> Lend(std::string_view name) const;

  // A key of the installation itself (token signing, ledger, CA), sealed like secrets but in no list. Made by
  // `generate` at the first call; the same for ever after, also when two threads ask first. Names as for Put.
  absl::StatusOr<base::Secret> SystemKey(std::string_view name,
                                         const std::function<absl::StatusOr<base::Secret>()>& generate);
  // Replaces it, for key rotation.
  absl::Status SetSystemKey(std::string_view name, const base::Secret& value);

  // Seals all data keys anew under the master key of `source` (which may make one), in one transaction; lending goes
  // on. On failure the old master key stays in force. The caller then configures `source` for the next start. Must not
  // be called inside Store::InTransaction.
  absl::Status Rewrap(const MasterKeySource& source);

 private:
  // During a Rewrap, before its commit is known here, rows may be under either key.
  struct Masters {
    std::shared_ptr<const crypto::SealKey> current;
    std::shared_ptr<const crypto::SealKey> next;  // null but in a Rewrap
  };

  Vault(store::Store& store, const base::Clock& clock, crypto::SealKey master);

  Masters masters() const;
  void SetMasters(Masters masters);
  absl::StatusOr<std::shared_ptr<const crypto::SealKey>> MasterInForce() const;
  absl::StatusOr<SecretInfo> Write(std::string_view name, const base::Secret& value, bool must_exist);
  absl::Status RewrapRows(const crypto::SealKey& from, const crypto::SealKey& to);

  store::Store& store_;
  const base::Clock& clock_;
  std::mutex rewrap_mutex_;           // one Rewrap at a time
  mutable std::mutex masters_mutex_;  // guards masters_; never held across a call to the store
  Masters masters_;
};

// A secret's value as it may be stored: line breaks at the end are cut (files end in one). Inside, line feeds may
// stand only in PEM (`-----BEGIN `); a JSON document (a service account's key file) loses its line breaks and tabs.
// Fails kSecretInvalid when nothing is left or a control byte stands inside, kTooLarge above kMaxSecretBytes.
absl::StatusOr<base::Secret> CleanSecret(const base::Secret& value);

}  // namespace credbroker::vault
