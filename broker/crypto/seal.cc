#include "crypto/seal.h"

#include <sodium.h>

#include <cstdlib>

#include "base/error.h"
#include "crypto/random.h"
#include "reveal/secret_reveal.h"

namespace credbroker::crypto {
namespace {

constexpr char kVersion = 0x01;
constexpr std::size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(kSealOverheadBytes == 1 + kNonceBytes + kTagBytes);
static_assert(kSealKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(kSealKeyBytes == crypto_box_SECRETKEYBYTES && kSealKeyBytes == crypto_box_PUBLICKEYBYTES);

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

absl::Status BadArgument(std::string_view why) { return base::Error(base::ErrorCode::kBadArgument, why); }
absl::Status Broken(std::string_view why) { return base::Error(base::ErrorCode::kSealBroken, why); }

}  // namespace

SealKey SealKey::Generate() { return *FromBytes(RandomSecret(kSealKeyBytes)); }

absl::StatusOr<SealKey> SealKey::FromBytes(const base::Secret& bytes) {
  if (bytes.size() != kSealKeyBytes) return BadArgument("a sealing key has 32 bytes");
  return SealKey(base::GuardedSecret(bytes.Reveal(base::SecretReveal{})));
}

base::Secret SealKey::Bytes() const { return base::Secret::Copy(key_.Reveal(base::SecretReveal{})); }

std::string Seal(const SealKey& key, const base::Secret& plaintext, std::string_view associated) {
  const std::string nonce = RandomBytes(kNonceBytes);
  std::string sealed(kSealOverheadBytes + plaintext.size(), '\0');
  sealed[0] = kVersion;
  sealed.replace(1, kNonceBytes, nonce);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      Bytes(sealed) + 1 + kNonceBytes, nullptr, Bytes(plaintext.Reveal(base::SecretReveal{})), plaintext.size(),
      Bytes(associated), associated.size(), nullptr, Bytes(nonce), Bytes(key.key_.Reveal(base::SecretReveal{})));
  return sealed;
}

absl::StatusOr<base::Secret> Open(const SealKey& key, std::string_view sealed, std::string_view associated) {
  if (sealed.size() < kSealOverheadBytes) return Broken("too short");
  if (sealed[0] != kVersion) return Broken("unknown version");
  const std::string_view nonce = sealed.substr(1, kNonceBytes);
  const std::string_view body = sealed.substr(1 + kNonceBytes);
  std::string plaintext(body.size() - kTagBytes, '\0');
  const int result = crypto_aead_xchacha20poly1305_ietf_decrypt(
      Bytes(plaintext), nullptr, nullptr, Bytes(body), body.size(), Bytes(associated), associated.size(), Bytes(nonce),
      Bytes(key.key_.Reveal(base::SecretReveal{})));
  if (result != 0) return Broken("wrong key, or the data was changed");
  return base::Secret::Take(std::move(plaintext));
}

BoxKey::BoxKey(base::GuardedSecret key) : key_(std::move(key)), public_key_(crypto_box_PUBLICKEYBYTES, '\0') {
  crypto_scalarmult_base(crypto::Bytes(public_key_), crypto::Bytes(key_.Reveal(base::SecretReveal{})));
}

BoxKey BoxKey::Generate() { return *FromBytes(RandomSecret(crypto_box_SECRETKEYBYTES)); }

absl::StatusOr<BoxKey> BoxKey::FromBytes(const base::Secret& bytes) {
  if (bytes.size() != crypto_box_SECRETKEYBYTES) return BadArgument("an X25519 key has 32 bytes");
  if (sodium_init() < 0) std::abort();
  return BoxKey(base::GuardedSecret(bytes.Reveal(base::SecretReveal{})));
}

base::Secret BoxKey::Bytes() const { return base::Secret::Copy(key_.Reveal(base::SecretReveal{})); }

absl::StatusOr<std::string> SealTo(std::string_view public_key, const base::Secret& plaintext) {
  if (public_key.size() != crypto_box_PUBLICKEYBYTES) return BadArgument("an X25519 public key has 32 bytes");
  if (sodium_init() < 0) std::abort();
  std::string sealed(crypto_box_SEALBYTES + plaintext.size(), '\0');
  const int result = crypto_box_seal(Bytes(sealed), Bytes(plaintext.Reveal(base::SecretReveal{})), plaintext.size(),
                                     Bytes(public_key));
  if (result != 0) return BadArgument("not an X25519 public key");
  return sealed;
}

absl::StatusOr<base::Secret> OpenSealed(const BoxKey& key, std::string_view sealed) {
  if (sealed.size() < crypto_box_SEALBYTES) return Broken("too short");
  std::string plaintext(sealed.size() - crypto_box_SEALBYTES, '\0');
  const int result = crypto_box_seal_open(Bytes(plaintext), Bytes(sealed), sealed.size(), Bytes(key.public_key_),
                                          Bytes(key.key_.Reveal(base::SecretReveal{})));
  if (result != 0) return Broken("wrong key, or the data was changed");
  return base::Secret::Take(std::move(plaintext));
}

}  // namespace credbroker::crypto
