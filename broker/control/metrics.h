#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/error.h"

namespace credbroker::control {

// Counters of one process, since its start. Thread-safe.
class Metrics {
 public:
  std::atomic<uint64_t> tokens_issued{0};
  std::atomic<uint64_t> revocations{0};
  std::atomic<uint64_t> leases_lent{0};
  std::atomic<uint64_t> leaves_signed{0};
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> export_behind{0};  // entries that the export heard from last had not looked at yet
  std::atomic<uint64_t> exports_ended{0};

  void CountError(base::ErrorCode code);
  std::map<base::ErrorCode, uint64_t> errors() const;

 private:
  mutable std::mutex mutex_;
  std::map<base::ErrorCode, uint64_t> errors_;
};

}  // namespace credbroker::control
