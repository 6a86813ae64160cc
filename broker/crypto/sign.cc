#include "crypto/sign.h"

#include <sodium.h>

#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "crypto/random.h"
#include "reveal/secret_reveal.h"

namespace credbroker::crypto {
namespace {

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

absl::Status BadKey(std::string_view why) { return base::Error(base::ErrorCode::kBadArgument, why); }

}  // namespace

absl::StatusOr<VerifyKey> VerifyKey::FromBytes(std::string_view bytes) {
  if (bytes.size() != kEd25519PublicKeyBytes) return BadKey("an Ed25519 public key has 32 bytes");
  if (crypto_core_ed25519_is_valid_point(Bytes(bytes)) != 1) return BadKey("not an Ed25519 public key");
  return VerifyKey(std::string(bytes));
}

absl::StatusOr<VerifyKey> VerifyKey::FromHex(std::string_view text) {
  std::string bytes;
  if (!base::HexDecode(text, &bytes)) return BadKey("a public key is written as 64 hexadecimal digits");
  return FromBytes(bytes);
}

std::string VerifyKey::Hex() const { return base::HexEncode(bytes_); }

bool VerifyKey::Verify(std::string_view message, std::string_view signature) const {
  if (signature.size() != kEd25519SignatureBytes) return false;
  return crypto_sign_verify_detached(Bytes(signature), Bytes(message), message.size(), Bytes(bytes_)) == 0;
}

SigningKey SigningKey::Generate() { return *FromSeed(RandomSecret(kEd25519SeedBytes)); }

absl::StatusOr<SigningKey> SigningKey::FromSeed(const base::Secret& seed) {
  if (seed.size() != kEd25519SeedBytes) return BadKey("an Ed25519 seed has 32 bytes");
  if (sodium_init() < 0) std::abort();
  std::string public_key(kEd25519PublicKeyBytes, '\0');
  std::string secret_key(crypto_sign_SECRETKEYBYTES, '\0');
  crypto_sign_seed_keypair(Bytes(public_key), Bytes(secret_key), Bytes(seed.Reveal(base::SecretReveal{})));
  base::GuardedSecret guarded(secret_key);
  base::WipeString(secret_key);
  return SigningKey(std::move(guarded), VerifyKey(std::move(public_key)));
}

base::Secret SigningKey::Seed() const {
  return base::Secret::Copy(key_.Reveal(base::SecretReveal{}).substr(0, kEd25519SeedBytes));
}

std::string SigningKey::Sign(std::string_view message) const {
  std::string signature(kEd25519SignatureBytes, '\0');
  crypto_sign_detached(Bytes(signature), nullptr, Bytes(message), message.size(),
                       Bytes(key_.Reveal(base::SecretReveal{})));
  return signature;
}

}  // namespace credbroker::crypto
