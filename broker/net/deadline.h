#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace credbroker::net {

// A point on the loop's monotonic clock (nanoseconds of base::Clock::Monotonic). Made by Loop::After. Waits keep to it
// within one tick of the timer wheel (100 ms), never early.
class Deadline {
 public:
  static constexpr Deadline Never() { return Deadline(std::numeric_limits<int64_t>::max()); }
  static Deadline At(absl::Duration monotonic) { return Deadline(absl::ToInt64Nanoseconds(monotonic)); }
  static constexpr Deadline AtNanoseconds(int64_t monotonic_ns) { return Deadline(monotonic_ns); }

  constexpr int64_t nanoseconds() const { return ns_; }
  constexpr bool never() const { return ns_ == std::numeric_limits<int64_t>::max(); }
  friend constexpr auto operator<=>(Deadline, Deadline) = default;

 private:
  explicit constexpr Deadline(int64_t ns) : ns_(ns) {}
  int64_t ns_;
};

}  // namespace credbroker::net
