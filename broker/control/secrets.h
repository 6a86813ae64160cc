#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/secret.h"
#include "control/caller.h"
#include "control/current_rules.h"
#include "control/recorder.h"
#include "control/revocations.h"
#include "vault/vault.h"

namespace credbroker::control {

enum class Overwrite { kNo, kYes };

struct SecretView {
  vault::SecretInfo info;
  std::vector<std::string> credentials;  // of the policy in force that use it
};

// Secrets as admins handle them: in, never out. Every change is recorded before it takes effect, and edges drop what
// they hold of it after. Thread-safe.
class Secrets {
 public:
  Secrets(vault::Vault& vault, const CurrentRules& rules, Recorder& recorder, Revocations& revocations)
      : vault_(vault), rules_(rules), recorder_(recorder), revocations_(revocations) {}

  // Fails kBadName, kSecretInvalid, kTooLarge, kStoreConflict (exists, without Overwrite), kLedgerUnavailable.
  absl::StatusOr<SecretView> Put(std::string_view name, const base::Secret& value, Overwrite overwrite,
                                 const Cause& cause);
  absl::StatusOr<SecretView> Rotate(std::string_view name, const base::Secret& value,
                                    const Cause& cause);           // kSecretNotFound
  absl::Status Delete(std::string_view name, const Cause& cause);  // kSecretNotFound
  absl::StatusOr<std::vector<SecretView>> List() const;

 private:
  absl::Status Record(std::string_view action, std::string_view name, const Cause& cause);
  std::vector<std::string> CredentialsOf(std::string_view secret) const;
  SecretView ViewOf(vault::SecretInfo info) const;

  vault::Vault& vault_;
  const CurrentRules& rules_;
  Recorder& recorder_;
  Revocations& revocations_;
};

}  // namespace credbroker::control
