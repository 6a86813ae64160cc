#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace credbroker::base {

class SecretReveal;  // reveal/secret_reveal.h, for the rooms that may read

// Bytes that must not be seen: a credential, a key, a token's text.
//
// Move-only; wiped when destroyed, moved from or assigned over. Does not print, format, copy or compare
// with `==` (each of these fails to compile); a failing test shows only its size. Memory comes from the
// ordinary heap: long-lived keys use `GuardedSecret`. Not thread-safe; const use from many threads is.
class Secret {
 public:
  Secret() = default;
  // Copies `bytes`; the caller wipes its own copy (see WipeString).
  static Secret Copy(std::string_view bytes) { return Secret(bytes); }
  // Takes the bytes over and wipes `bytes`.
  static Secret Take(std::string&& bytes);

  Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)) { other.bytes_.clear(); }
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  bool operator==(const Secret&) const = delete;
  friend std::ostream& operator<<(std::ostream&, const Secret&) = delete;

  // Constant time in the content; the lengths are not hidden.
  friend bool EqualConstantTime(const Secret& a, const Secret& b);

  // A second copy, loud on purpose.
  Secret Clone() const { return Secret(std::string_view(bytes_.data(), bytes_.size())); }

  // The bytes, valid while this object lives unchanged.
  std::string_view Reveal(const SecretReveal&) const { return {bytes_.data(), bytes_.size()}; }

  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

 private:
  explicit Secret(std::string_view bytes) : bytes_(bytes.begin(), bytes.end()) {}
  void Wipe();

  std::vector<char> bytes_;
};

// What GoogleTest prints for a secret: `[secret, 7 bytes]`.
void PrintTo(const Secret& secret, std::ostream* out);

// Overwrites the bytes of a string that held a secret for a moment, and empties it.
void WipeString(std::string& text);

// A long-lived key in guarded, locked pages (sodium_malloc): an overrun faults, the pages stay out of swap and
// core dumps. Fixed size; read-only after construction. Move-only. Const use is thread-safe.
class GuardedSecret {
 public:
  GuardedSecret() = default;
  explicit GuardedSecret(std::string_view bytes);
  GuardedSecret(GuardedSecret&& other) noexcept;
  GuardedSecret& operator=(GuardedSecret&& other) noexcept;
  ~GuardedSecret();

  bool operator==(const GuardedSecret&) const = delete;
  friend std::ostream& operator<<(std::ostream&, const GuardedSecret&) = delete;

  std::string_view Reveal(const SecretReveal&) const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

// Turns core dumps off and marks the process undumpable. False when the kernel refuses: the caller must not go on.
bool DisableCoreDumps();

}  // namespace credbroker::base
