#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/secret.h"

namespace credbroker::crypto {

inline constexpr std::size_t kEd25519PublicKeyBytes = 32;
inline constexpr std::size_t kEd25519SeedBytes = 32;
inline constexpr std::size_t kEd25519SignatureBytes = 64;

// An Ed25519 public key (RFC 8032). A value; const use is thread-safe.
class VerifyKey {
 public:
  // 32 bytes that are a point of the main subgroup. Fails kBadArgument.
  static absl::StatusOr<VerifyKey> FromBytes(std::string_view bytes);
  // The same as 64 hexadecimal digits.
  static absl::StatusOr<VerifyKey> FromHex(std::string_view text);

  const std::string& bytes() const { return bytes_; }
  std::string Hex() const;

  // Strict: refuses non-canonical scalars, small-order points and signatures that are not 64 bytes.
  bool Verify(std::string_view message, std::string_view signature) const;

  bool operator==(const VerifyKey&) const = default;

 private:
  explicit VerifyKey(std::string bytes) : bytes_(std::move(bytes)) {}
  friend class SigningKey;

  std::string bytes_;
};

// An Ed25519 private key in guarded pages. Move-only; const use is thread-safe.
class SigningKey {
 public:
  static SigningKey Generate();
  // From the 32-byte seed of RFC 8032. Fails kBadArgument on another length.
  static absl::StatusOr<SigningKey> FromSeed(const base::Secret& seed);

  const VerifyKey& public_key() const { return public_key_; }
  // The seed, to be sealed and stored.
  base::Secret Seed() const;
  // 64 bytes, deterministic.
  std::string Sign(std::string_view message) const;

 private:
  SigningKey(base::GuardedSecret key, VerifyKey public_key)
      : key_(std::move(key)), public_key_(std::move(public_key)) {}

  base::GuardedSecret key_;  // seed and public key, as libsodium wants it
  VerifyKey public_key_;
};

}  // namespace credbroker::crypto
