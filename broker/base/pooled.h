#pragma once

#include <cstddef>

namespace credbroker::base {

// Memory for what comes and goes with every request: coroutine frames, records. Freed blocks wait in lists of their
// thread, at most 256 KiB of each size, since many of these are above what malloc's own thread cache keeps (1 KiB),
// where a pair of malloc and free costs ten times as much. Blocks above 4 KiB come from operator new. A block may be
// given back on another thread. Under AddressSanitizer every block comes from operator new, so that it sees misuse.
void* TakeBlock(std::size_t size);
void GiveBlock(void* block, std::size_t size) noexcept;

// Base of classes whose objects live in such blocks.
struct Pooled {
  static void* operator new(std::size_t size) { return TakeBlock(size); }
  static void operator delete(void* block, std::size_t size) noexcept { GiveBlock(block, size); }
};

}  // namespace credbroker::base
