#include "net/timer_wheel.h"

#include <algorithm>

namespace credbroker::net {
namespace {

// Rounded up: a timer is late rather than early.
int64_t TickOf(Deadline deadline) {
  const int64_t ns = deadline.nanoseconds();
  return ns / TimerWheel::kTickNs + (ns % TimerWheel::kTickNs > 0 ? 1 : 0);
}

}  // namespace

TimerNode::~TimerNode() {
  if (linked()) --wheel_.linked_;
}

void TimerNode::Arm(Deadline deadline) {
  deadline_ = deadline;
  if (deadline.never()) return;
  const int64_t tick = std::max(TickOf(deadline), wheel_.tick_ + 1);
  if (linked() && slot_tick_ <= tick) return;  // looked at in time where it is
  if (linked()) {
    Unlink();
    --wheel_.linked_;
  }
  wheel_.Link(this);
}

void TimerWheel::Link(TimerNode* node) {
  const int64_t tick = std::max(TickOf(node->deadline_), tick_ + 1);
  const auto slots = static_cast<int64_t>(kSlots);
  node->slot_tick_ = tick_ + 1 + (tick - tick_ - 1) % slots;
  slots_[static_cast<std::size_t>(tick % slots)].PushBack(node);
  ++linked_;
}

void TimerWheel::Advance(int64_t now_ns) {
  const int64_t target = now_ns / kTickNs;
  if (target <= tick_) return;
  const auto slots = static_cast<int64_t>(kSlots);
  int64_t tick = std::max(tick_ + 1, target - slots + 1);
  tick_ = target;
  for (; tick <= target; ++tick) {
    ListNode due;
    slots_[static_cast<std::size_t>(tick % slots)].MoveAllTo(&due);
    while (due.linked()) {
      auto* node = static_cast<TimerNode*>(due.next());
      node->Unlink();
      --linked_;
      if (!node->armed()) continue;
      if (TickOf(node->deadline_) > target) {
        Link(node);
        continue;
      }
      node->Disarm();
      node->OnTimer();
    }
  }
}

int64_t TimerWheel::UntilNextTick(int64_t now_ns) const {
  if (linked_ == 0) return -1;
  return std::max<int64_t>(0, (tick_ + 1) * kTickNs - now_ns);
}

}  // namespace credbroker::net
