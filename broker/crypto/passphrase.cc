// In a file of its own, so that a program which never asks for a passphrase does not link Argon2id.
#include <sodium.h>

#include "base/error.h"
#include "crypto/seal.h"
#include "reveal/secret_reveal.h"

namespace credbroker::crypto {

absl::StatusOr<SealKey> DeriveKey(const base::Secret& passphrase, std::string_view salt, Argon2Cost cost) {
  if (passphrase.empty()) return base::Error(base::ErrorCode::kBadArgument, "the passphrase is empty");
  if (salt.size() != crypto_pwhash_SALTBYTES) return base::Error(base::ErrorCode::kBadArgument, "the salt must have 16 bytes");
  const std::string_view words = passphrase.Reveal(base::SecretReveal{});
  std::string key(kSealKeyBytes, '\0');
  const int result = crypto_pwhash(reinterpret_cast<unsigned char*>(key.data()), key.size(), words.data(), words.size(),
                                   reinterpret_cast<const unsigned char*>(salt.data()), cost.passes, cost.memory_bytes,
                                   crypto_pwhash_ALG_ARGON2ID13);
  if (result != 0) return base::Error(base::ErrorCode::kInternal, "Argon2id: no memory");
  return SealKey::FromBytes(base::Secret::Take(std::move(key)));
}

}  // namespace credbroker::crypto
