#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/secret.h"

namespace credbroker::crypto {

inline constexpr std::size_t kSealKeyBytes = 32;
// What Seal adds to the plaintext: version, nonce, tag.
inline constexpr std::size_t kSealOverheadBytes = 1 + 24 + 16;

// A key for Seal and Open, in guarded pages. Move-only; const use is thread-safe.
class SealKey {
 public:
  static SealKey Generate();
  // Exactly 32 bytes, otherwise fails kBadArgument.
  static absl::StatusOr<SealKey> FromBytes(const base::Secret& bytes);

  // The raw key, to be wrapped by another one.
  base::Secret Bytes() const;

 private:
  explicit SealKey(base::GuardedSecret key) : key_(std::move(key)) {}
  friend std::string Seal(const SealKey&, const base::Secret&, std::string_view);
  friend absl::StatusOr<base::Secret> Open(const SealKey&, std::string_view, std::string_view);

  base::GuardedSecret key_;
};

// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) under a fresh random nonce.
// sealed := version 0x01 | nonce[24] | ciphertext | tag[16]
// `associated` is authenticated and not stored: name what is sealed, so that two sealed values cannot be swapped.
// Thread-safe.
std::string Seal(const SealKey& key, const base::Secret& plaintext, std::string_view associated);

// Fails kSealBroken on any other key, associated text or byte. Thread-safe.
absl::StatusOr<base::Secret> Open(const SealKey& key, std::string_view sealed, std::string_view associated);

// An X25519 key pair to which others can seal: a lease's value travels to one edge only. Move-only; const use is
// thread-safe.
class BoxKey {
 public:
  static BoxKey Generate();
  // From the 32-byte secret key. Fails kBadArgument on another length.
  static absl::StatusOr<BoxKey> FromBytes(const base::Secret& bytes);

  // 32 bytes, to be given to the sender.
  const std::string& public_key() const { return public_key_; }
  base::Secret Bytes() const;

 private:
  explicit BoxKey(base::GuardedSecret key);
  friend absl::StatusOr<base::Secret> OpenSealed(const BoxKey&, std::string_view);

  base::GuardedSecret key_;
  std::string public_key_;
};

// crypto_box_seal of libsodium: an ephemeral sender key, XSalsa20-Poly1305. It proves nothing about the sender: the
// channel must. Fails kBadArgument when `public_key` is not 32 bytes or has a small order. Thread-safe.
absl::StatusOr<std::string> SealTo(std::string_view public_key, const base::Secret& plaintext);

// Fails kSealBroken. Thread-safe.
absl::StatusOr<base::Secret> OpenSealed(const BoxKey& key, std::string_view sealed);

// Work of Argon2id (RFC 9106): passes and memory in bytes. The default is libsodium's "moderate": about 0.7 s, 256 MiB.
struct Argon2Cost {
  unsigned long long passes = 3;
  std::size_t memory_bytes = 256u << 20;
};

// A key from a passphrase. `salt` is 16 bytes. Fails kBadArgument on an empty passphrase or another salt length,
// kInternal when the memory is not to be had. Thread-safe.
absl::StatusOr<SealKey> DeriveKey(const base::Secret& passphrase, std::string_view salt, Argon2Cost cost = {});

}  // namespace credbroker::crypto
