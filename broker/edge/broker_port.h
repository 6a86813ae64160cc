#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/secret.h"

namespace credbroker::edge {

// What the data plane asks of the broker, seldom: both answers are cached. The callbacks run once, on a thread of the
// link's. Thread-safe.
class BrokerPort {
 public:
  virtual ~BrokerPort() = default;

  struct Lent {
    base::Secret secret;
    absl::Time expires_at;
    int64_t secret_version = 0;
  };
  // A credential's value for one session. Fails kCredentialNotSet, kProviderDown, kTokenRevoked.
  virtual void Lend(std::string session, std::string credential, int64_t policy_version, std::string intent_id,
                    std::function<void(absl::StatusOr<Lent>)> done) = 0;

  // A certificate chain (PEM) for `host` over the key with this SubjectPublicKeyInfo. Fails kHostNotAllowed, kProviderDown.
  virtual void SignLeaf(std::string host, std::string public_key_der, std::function<void(absl::StatusOr<std::string>)> done) = 0;
};

}  // namespace credbroker::edge
