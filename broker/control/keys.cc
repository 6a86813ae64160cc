#include "control/keys.h"

#include <optional>
#include <utility>

#include "base/id.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::control {
namespace {

constexpr std::string_view kInstallationKey = "installation";

absl::StatusOr<std::string> Installation(store::Store& store) {
  ASSIGN_OR_RETURN(const std::optional<std::string> kept, store.meta().Get(kInstallationKey));
  if (kept) return *kept;
  std::string made = base::RandomId("i-");
  RETURN_IF_ERROR(store.meta().Set(kInstallationKey, made));
  return made;
}

absl::StatusOr<crypto::SigningKey> SigningKeyOf(vault::Vault& vault, std::string_view name) {
  ASSIGN_OR_RETURN(
      const base::Secret seed,
      vault.SystemKey(name, []() -> absl::StatusOr<base::Secret> { return crypto::SigningKey::Generate().Seed(); }),
      name);
  return crypto::SigningKey::FromSeed(seed);
}

// The certificate is stored after its key: as long as it is missing, a key that is there belongs to an interrupted
// first start and is replaced.
absl::StatusOr<std::unique_ptr<crypto::CertificateAuthority>> AuthorityOf(vault::Vault& vault, store::Store& store,
                                                                          std::string_view name,
                                                                          const std::string& common_name,
                                                                          absl::Time now) {
  const std::string meta_key = base::StrCat("certificate/", name);
  ASSIGN_OR_RETURN(std::optional<std::string> certificate, store.meta().Get(meta_key));
  if (!certificate) {
    ASSIGN_OR_RETURN(const crypto::CaFiles made, crypto::GenerateCa(common_name, now), "making a CA");
    RETURN_IF_ERROR(vault.SetSystemKey(name, made.key_pem), name);
    RETURN_IF_ERROR(store.meta().Set(meta_key, made.certificate_pem));
    certificate = made.certificate_pem;
  }
  const auto lost = []() -> absl::StatusOr<base::Secret> {
    return base::Error(base::ErrorCode::kSealBroken, "the CA's key is gone");
  };
  ASSIGN_OR_RETURN(const base::Secret key, vault.SystemKey(name, lost), name);
  return crypto::CertificateAuthority::Load(*certificate, key);
}

}  // namespace

std::string Keys::ledger_origin() const { return base::StrCat("credbroker/", installation, "/broker"); }
std::string Keys::token_assertion() const { return base::StrCat("credbroker/v1 ", installation); }

absl::StatusOr<Keys> OpenKeys(vault::Vault& vault, store::Store& store, const base::Clock& clock) {
  ASSIGN_OR_RETURN(std::string installation, Installation(store), "naming the installation");
  ASSIGN_OR_RETURN(crypto::SigningKey token_key, SigningKeyOf(vault, "token-signing"));
  ASSIGN_OR_RETURN(crypto::SigningKey ledger_key, SigningKeyOf(vault, "ledger-signing"));
  const absl::Time now = clock.Now();
  ASSIGN_OR_RETURN(auto ca, AuthorityOf(vault, store, "ca", base::StrCat("Credbroker ", installation), now));
  ASSIGN_OR_RETURN(auto api_ca,
                   AuthorityOf(vault, store, "api-ca", base::StrCat("Credbroker API ", installation), now));
  return Keys{std::move(installation), std::move(token_key), std::move(ledger_key), std::move(ca), std::move(api_ca)};
}

}  // namespace credbroker::control
