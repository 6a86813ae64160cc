#include "base/secret.h"

#include <sodium.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cstdlib>
#include <ostream>
#include <utility>

namespace credbroker::base {

Secret Secret::Take(std::string&& bytes) {
  Secret secret(bytes);
  WipeString(bytes);
  return secret;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  Wipe();
  bytes_ = std::move(other.bytes_);
  other.bytes_.clear();
  return *this;
}

Secret::~Secret() { Wipe(); }

void Secret::Wipe() {
  if (!bytes_.empty()) sodium_memzero(bytes_.data(), bytes_.size());
}

bool EqualConstantTime(const Secret& a, const Secret& b) {
  if (a.bytes_.size() != b.bytes_.size()) return false;
  return a.bytes_.empty() || sodium_memcmp(a.bytes_.data(), b.bytes_.data(), a.bytes_.size()) == 0;
}

void PrintTo(const Secret& secret, std::ostream* out) { *out << "[secret, " << secret.size() << " bytes]"; }

void WipeString(std::string& text) {
  if (!text.empty()) sodium_memzero(text.data(), text.size());
  text.clear();
}

GuardedSecret::GuardedSecret(std::string_view bytes) : size_(bytes.size()) {
  if (sodium_init() < 0) std::abort();
  data_ = static_cast<char*>(sodium_malloc(bytes.size()));
  if (data_ == nullptr) std::abort();  // no locked memory left: the impossible, not the hostile
  std::copy(bytes.begin(), bytes.end(), data_);
  sodium_mprotect_readonly(data_);
}

GuardedSecret::GuardedSecret(GuardedSecret&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

GuardedSecret& GuardedSecret::operator=(GuardedSecret&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

GuardedSecret::~GuardedSecret() {
  if (data_ != nullptr) sodium_free(data_);  // wipes
}

bool DisableCoreDumps() {
  const rlimit none{0, 0};
  return setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

}  // namespace credbroker::base
