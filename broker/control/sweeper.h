#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace credbroker::control {

// Calls `work` every `interval` of real time on a thread of its own, until it is destroyed. What is due is decided by
// the work, with the injected clock.
class Sweeper {
 public:
  Sweeper(absl::Duration interval, std::function<void()> work);
  ~Sweeper();
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

 private:
  void Run();

  const absl::Duration interval_;
  const std::function<void()> work_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace credbroker::control
