#include "base/clock.h"

#include <ctime>

namespace credbroker::base {
namespace {

class MachineClock final : public Clock {
 public:
  absl::Time Now() const override {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return absl::TimeFromTimespec(t);
  }
  absl::Duration Monotonic() const override {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return absl::DurationFromTimespec(t);
  }
};

}  // namespace

const Clock& SystemClock() {
  static const MachineClock clock;
  return clock;
}

}  // namespace credbroker::base
