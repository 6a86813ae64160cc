// Tells the thread sanitizer what gRPC does. Debian's gRPC and Abseil are not built with it, so that all which gRPC hands
// from thread to thread under an absl::Mutex would look like a race, and a descriptor that it closes as if it were open
// still. Linked into every program of a thread sanitizer build; these definitions go before those of the libraries, and
// call them.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "absl/synchronization/mutex.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
int __interceptor_close(int fd);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

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

// True for code of the program itself.
bool IsOurs(const void* address) {
  Dl_info program{}, info{};
  return dladdr(reinterpret_cast<const void*>(&IsOurs), &program) != 0 && dladdr(address, &info) != 0 &&
         info.dli_fbase == program.dli_fbase;
}

}  // namespace

// tests/tsan.supp makes the sanitizer blind to calls out of gRPC, this one included: the number's next owner would seem to
// race with whoever opened it for gRPC. Called from here it is seen, but not taken for a use by another thread.
extern "C" int close(int fd) {
  if (IsOurs(__builtin_return_address(0))) return __interceptor_close(fd);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  const int result = __interceptor_close(fd);
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  return result;
}

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
