#pragma once

#include <atomic>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace credbroker::base {

// The only source of time in the product, so that tests advance it instead of sleeping. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Wall clock, for claims, expiries and records.
  virtual absl::Time Now() const = 0;
  // Never steps back, for deadlines and durations. The origin is arbitrary.
  virtual absl::Duration Monotonic() const = 0;
};

// The machine's clock. Lives as long as the process.
const Clock& SystemClock();

// A clock that moves only when told.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'800'000'000)) : start_(start) {}
  absl::Time Now() const override { return start_ + Monotonic(); }
  absl::Duration Monotonic() const override { return absl::Nanoseconds(elapsed_ns_.load()); }
  void Advance(absl::Duration by) { elapsed_ns_ += absl::ToInt64Nanoseconds(by); }

 private:
  absl::Time start_;
  std::atomic<int64_t> elapsed_ns_{0};
};

}  // namespace credbroker::base
