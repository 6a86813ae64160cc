#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace credbroker::crypto {

using Sha256Digest = std::array<unsigned char, 32>;

// The digest as text bytes, valid while `digest` lives.
inline std::string_view View(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// SHA-256 (FIPS 180-4) in one go. Uses the processor's SHA instructions and a context per thread, so that a ledger
// leaf costs about 100 ns. Thread-safe.
Sha256Digest Sha256(std::string_view bytes);

// SHA-256 over two pieces without joining them: the prefix byte and the content of a Merkle node (RFC 6962).
Sha256Digest Sha256(std::string_view first, std::string_view second);

// SHA-256 in lower-case hexadecimal.
std::string Sha256Hex(std::string_view bytes);

// SHA-256 over a stream. Move-only; not thread-safe.
class Sha256Stream {
 public:
  Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;
  ~Sha256Stream();

  void Update(std::string_view bytes);
  // The digest of all updates; the stream starts anew.
  Sha256Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// HMAC-SHA-256 (RFC 2104), a key of any length. Thread-safe.
Sha256Digest HmacSha256(std::string_view key, std::string_view bytes);
Sha256Digest HmacSha256(const base::Secret& key, std::string_view bytes);

// BLAKE2b (RFC 7693) of `size` bytes (16 to 64; otherwise aborts). `key` may be empty, at most 64 bytes. Thread-safe.
std::string Blake2b(std::string_view bytes, std::size_t size, std::string_view key = {});

// Constant time in the content; the lengths are not hidden.
bool EqualConstantTime(std::string_view a, std::string_view b);

}  // namespace credbroker::crypto
