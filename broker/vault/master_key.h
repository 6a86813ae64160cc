#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/secret.h"
#include "crypto/seal.h"

namespace credbroker::vault {

enum class FirstStart { kNo, kYes };

// Where the master key comes from. Implementations are immutable and thread-safe.
class MasterKeySource {
 public:
  virtual ~MasterKeySource() = default;
  // `salt` is 16 random bytes of this installation. Only on the first start may a missing key be made: later a new one
  // would open nothing and hide the loss. Fails kSealBroken when the key is missing.
  virtual absl::StatusOr<crypto::SealKey> Load(std::string_view salt, FirstStart first_start) const = 0;
};

// 32 bytes in hexadecimal in a file of mode 0600 in a private folder; made at first start.
class MasterKeyFile final : public MasterKeySource {
 public:
  explicit MasterKeyFile(std::string path) : path_(std::move(path)) {}
  // Fails kUnsafeFile when others could read the file, kConfigInvalid when it holds no key.
  absl::StatusOr<crypto::SealKey> Load(std::string_view salt, FirstStart first_start) const override;

 private:
  std::string path_;
};

// A credential that systemd passes (LoadCredential=, LoadCredentialEncrypted=): the file `name` in the folder that the
// service's environment calls CREDENTIALS_DIRECTORY. 32 bytes raw or in hexadecimal. Never made here.
class SystemdCredential final : public MasterKeySource {
 public:
  SystemdCredential(std::string folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {}
  absl::StatusOr<crypto::SealKey> Load(std::string_view salt, FirstStart first_start) const override;

 private:
  std::string folder_;
  std::string name_;
};

// A passphrase, through Argon2id with the installation's salt. The same cost must be given at every start.
class Passphrase final : public MasterKeySource {
 public:
  explicit Passphrase(base::Secret passphrase, crypto::Argon2Cost cost = {})
      : passphrase_(std::move(passphrase)), cost_(cost) {}
  // Fails kSecretInvalid on fewer than 12 bytes.
  absl::StatusOr<crypto::SealKey> Load(std::string_view salt, FirstStart first_start) const override;

 private:
  base::Secret passphrase_;
  crypto::Argon2Cost cost_;
};

}  // namespace credbroker::vault
