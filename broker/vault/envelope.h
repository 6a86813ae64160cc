#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/secret.h"
#include "crypto/seal.h"

// How a value is sealed at rest:
//
//   envelope := Seal(master, data key, "key:" what) [73 bytes] | Seal(data key, value, "value:" what)
//
// `what` names the value and its version. A change of the master key rewrites the first part only.
namespace credbroker::vault {

std::string SealEnvelope(const crypto::SealKey& master, const base::Secret& value, std::string_view what);

// Fails kSealBroken.
absl::StatusOr<base::Secret> OpenEnvelope(const crypto::SealKey& master, std::string_view envelope,
                                          std::string_view what);

// The same envelope under another master key. Fails kSealBroken.
absl::StatusOr<std::string> RewrapEnvelope(const crypto::SealKey& from, const crypto::SealKey& to,
                                           std::string_view envelope, std::string_view what);

}  // namespace credbroker::vault
