#include "base/pooled.h"

#include <array>
#include <cstdint>
#include <new>

namespace credbroker::base {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPools = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kPools = false;
#else
constexpr bool kPools = true;
#endif
#else
constexpr bool kPools = true;
#endif

constexpr std::size_t kStep = 128;
constexpr std::size_t kClasses = 32;
constexpr std::size_t kBytesPerClass = 256 * 1024;

struct Block {
  Block* next;
};

struct Shelf {
  Block* top = nullptr;
  std::uint32_t count = 0;
};

// No destructor: blocks may be given back while the thread's other objects end.
struct Shelves {
  std::array<Shelf, kClasses> shelf{};
  bool closed = false;
};
constinit thread_local Shelves shelves;

struct Closer {
  ~Closer() {
    shelves.closed = true;
    for (Shelf& shelf : shelves.shelf) {
      while (shelf.top != nullptr) {
        Block* const block = shelf.top;
        shelf.top = block->next;
        ::operator delete(block);
      }
    }
  }
  void Touch() {}
};
thread_local Closer closer;

std::size_t ClassOf(std::size_t size) { return (size + kStep - 1) / kStep - 1; }

}  // namespace

void* TakeBlock(std::size_t size) {
  const std::size_t which = ClassOf(size);
  if (!kPools || size == 0 || which >= kClasses) return ::operator new(size);
  Shelf& shelf = shelves.shelf[which];
  if (shelf.top == nullptr) return ::operator new((which + 1) * kStep);
  Block* const block = shelf.top;
  shelf.top = block->next;
  --shelf.count;
  return block;
}

void GiveBlock(void* block, std::size_t size) noexcept {
  const std::size_t which = ClassOf(size);
  const bool kept = kPools && size != 0 && which < kClasses && !shelves.closed &&
                    shelves.shelf[which].count < kBytesPerClass / ((which + 1) * kStep);
  if (!kept) return ::operator delete(block);
  closer.Touch();
  Shelf& shelf = shelves.shelf[which];
  shelf.top = new (block) Block{shelf.top};
  ++shelf.count;
}

}  // namespace credbroker::base
