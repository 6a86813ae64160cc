// Tells the thread sanitizer about absl::Mutex. Debian's Abseil is not built with it, so that all which gRPC hands from
// thread to thread under its locks would look like a race. Linked into every program of a thread sanitizer build; these
// definitions go before those of the library, and call them.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "absl/synchronization/mutex.h"

extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);

namespace {

// The library's own function of the same name as `member`, which is one of ours.
template <typename Function, typename Member>
Function* Library(Member member) {
  void* ours = nullptr;
  static_assert(sizeof(member) >= sizeof(ours));
  std::memcpy(&ours, &member, sizeof(ours));  // what a pointer to a member that is not virtual begins with
  Dl_info info{};
  if (dladdr(ours, &info) == 0 || info.dli_sname == nullptr) std::abort();
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, info.dli_sname));
  if (found == nullptr) std::abort();
  return found;
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static auto* const library = Library<void(Mutex*)>(&Mutex::Lock);
  library(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static auto* const library = Library<void(Mutex*)>(&Mutex::Unlock);
  __tsan_release(this);
  library(this);
}

bool Mutex::TryLock() {
  static auto* const library = Library<bool(Mutex*)>(&Mutex::TryLock);
  const bool locked = library(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const library = Library<void(CondVar*, Mutex*)>(&CondVar::Wait);
  __tsan_release(mutex);
  library(this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, absl::Time deadline) {
  static auto* const library = Library<bool(CondVar*, Mutex*, absl::Time)>(&CondVar::WaitWithDeadline);
  __tsan_release(mutex);
  const bool expired = library(this, mutex, deadline);
  __tsan_acquire(mutex);
  return expired;
}

bool CondVar::WaitWithTimeout(Mutex* mutex, absl::Duration timeout) {
  static auto* const library = Library<bool(CondVar*, Mutex*, absl::Duration)>(&CondVar::WaitWithTimeout);
  __tsan_release(mutex);
  const bool expired = library(this, mutex, timeout);
  __tsan_acquire(mutex);
  return expired;
}

ABSL_NAMESPACE_END
}  // namespace absl
