#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "control/current_rules.h"
#include "control/edges.h"
#include "control/metrics.h"
#include "crypto/certificate.h"
#include "store/store.h"
#include "vault/vault.h"

namespace credbroker::control {

struct Lent {
  std::string sealed;  // crypto::SealTo the edge's key: the secret's bytes
  absl::Time expires_at;
  int64_t secret_version = 0;
};

// What edges borrow: credentials' values and certificates for intercepted hosts. Both only as far as the policy in
// force needs them. Thread-safe.
class Lending {
 public:
  Lending(store::Store& store, vault::Vault& vault, const CurrentRules& rules, const EdgeHub& hub,
          const crypto::CertificateAuthority& ca, Metrics& metrics, const base::Clock& clock)
      : store_(store), vault_(vault), rules_(rules), hub_(hub), ca_(ca), metrics_(metrics), clock_(clock) {}

  // The value of a credential, sealed to the edge, for kLeaseLife at most and never past the session's end. The session
  // must be live and one of its scopes must use the credential. Fails kEdgeNotFound, kSessionNotFound, kSessionClosed,
  // kNoRule, kCredentialNotSet.
  absl::StatusOr<Lent> Lend(std::string_view edge, std::string_view session, std::string_view credential) const;

  // A leaf certificate for a host that some scope reaches and that is inspected, or for the gateway's own names. Fails kHostNotAllowed, kBadHost,
  // kBadArgument for a key that is not P-256.
  absl::StatusOr<std::string> SignLeaf(std::string_view host, std::string_view public_key_der) const;

  static constexpr absl::Duration kLeaseLife = absl::Minutes(5);

 private:
  store::Store& store_;
  vault::Vault& vault_;
  const CurrentRules& rules_;
  const EdgeHub& hub_;
  const crypto::CertificateAuthority& ca_;
  Metrics& metrics_;
  const base::Clock& clock_;
};

}  // namespace credbroker::control
