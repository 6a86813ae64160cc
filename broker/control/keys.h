#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "crypto/certificate.h"
#include "crypto/sign.h"
#include "store/store.h"
#include "vault/vault.h"

namespace credbroker::control {

// The installation's own keys: made at the first start, sealed in the vault, the same for ever after.
struct Keys {
  std::string installation;  // random name of this installation
  crypto::SigningKey token_key;
  crypto::SigningKey ledger_key;
  std::unique_ptr<crypto::CertificateAuthority> ca;      // signs leaves of intercepted hosts
  std::unique_ptr<crypto::CertificateAuthority> api_ca;  // signs our own API's certificate; never trusted by sandboxes

  std::string ledger_origin() const;    // name of the broker's ledger and of its key
  std::string token_assertion() const;  // implicit assertion of every token
};

// Tokens are meant for edges.
inline constexpr std::string_view kTokenAudience = "edge";

// Safe against a stop at any point. Fails as the vault and the store. Call once, from one thread.
absl::StatusOr<Keys> OpenKeys(vault::Vault& vault, store::Store& store, const base::Clock& clock);

}  // namespace credbroker::control
