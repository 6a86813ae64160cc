#include "control/metrics.h"

namespace credbroker::control {

void Metrics::CountError(base::ErrorCode code) {
  const std::lock_guard lock(mutex_);
  ++errors_[code];
}

std::map<base::ErrorCode, uint64_t> Metrics::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

}  // namespace credbroker::control
