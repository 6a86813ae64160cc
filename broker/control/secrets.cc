#include "control/secrets.h"

#include <utility>

#include "base/macros.h"

namespace credbroker::control {

using base::ErrorCode;

std::vector<std::string> Secrets::CredentialsOf(std::string_view secret) const {
  std::vector<std::string> names;
  for (const auto& [name, credential] : rules_.Get()->credentials()) {
    if (credential.secret == secret) names.push_back(name);
  }
  return names;
}

SecretView Secrets::ViewOf(vault::SecretInfo info) const {
  SecretView view{.credentials = CredentialsOf(info.name)};
  view.info = std::move(info);
  return view;
}

absl::Status Secrets::Record(std::string_view action, std::string_view name, const Cause& cause) {
  model::Record record{.kind = model::RecordKind::kAdmin};
  record.action = action;
  record.subject = name;
  record.actor = cause.actor;
  return recorder_.Write(std::move(record));
}

absl::StatusOr<SecretView> Secrets::Put(std::string_view name, const base::Secret& value, Overwrite overwrite,
                                        const Cause& cause) {
  const absl::StatusOr<vault::SecretInfo> old = vault_.Find(name);
  if (!old.ok() && base::CodeOf(old.status()) != ErrorCode::kSecretNotFound) return old.status();
  if (old.ok() && overwrite == Overwrite::kNo) {
    return base::Error(ErrorCode::kStoreConflict, "the secret exists; rotate it, or put it with --replace");
  }
  RETURN_IF_ERROR(vault::CleanSecret(value).status(),
                  "putting a secret");  // before the record, so that none is in vain
  RETURN_IF_ERROR(Record("secret.put", name, cause), "putting a secret");
  ASSIGN_OR_RETURN(vault::SecretInfo info, vault_.Put(name, value));
  revocations_.DropLeases(CredentialsOf(name));
  return ViewOf(std::move(info));
}

absl::StatusOr<SecretView> Secrets::Rotate(std::string_view name, const base::Secret& value, const Cause& cause) {
  RETURN_IF_ERROR(vault_.Find(name).status(), "rotating a secret");
  RETURN_IF_ERROR(vault::CleanSecret(value).status(), "rotating a secret");
  RETURN_IF_ERROR(Record("secret.rotate", name, cause), "rotating a secret");
  ASSIGN_OR_RETURN(vault::SecretInfo info, vault_.Rotate(name, value));
  revocations_.DropLeases(CredentialsOf(name));
  return ViewOf(std::move(info));
}

absl::Status Secrets::Delete(std::string_view name, const Cause& cause) {
  RETURN_IF_ERROR(vault_.Find(name).status(), "deleting a secret");
  RETURN_IF_ERROR(Record("secret.delete", name, cause), "deleting a secret");
  RETURN_IF_ERROR(vault_.Delete(name));
  revocations_.DropLeases(CredentialsOf(name));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SecretView>> Secrets::List() const {
  ASSIGN_OR_RETURN(const std::vector<vault::SecretInfo> infos, vault_.List(), "listing secrets");
  std::vector<SecretView> views;
  for (const vault::SecretInfo& info : infos) views.push_back(ViewOf(info));
  return views;
}

}  // namespace credbroker::control
