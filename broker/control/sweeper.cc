#include "control/sweeper.h"

#include <chrono>
#include <utility>

namespace credbroker::control {

Sweeper::Sweeper(absl::Duration interval, std::function<void()> work)
    : interval_(interval), work_(std::move(work)), thread_([this] { Run(); }) {}

Sweeper::~Sweeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void Sweeper::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, absl::ToChronoMilliseconds(interval_), [this] { return stopping_; })) {
    lock.unlock();
    work_();
    lock.lock();
  }
}

}  // namespace credbroker::control
