#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "net/deadline.h"
#include "net/list.h"

namespace credbroker::net {

class TimerWheel;

// One deadline in a wheel. Setting it again to a later time, or clearing it, costs two stores: the node moves only
// when its old slot comes up. That is why a connection has one node for all its waits. Loop thread only.
class TimerNode : public ListNode {
 public:
  explicit TimerNode(TimerWheel& wheel) : wheel_(wheel) {}

  void Arm(Deadline deadline);  // replaces an earlier deadline
  void Disarm() { deadline_ = Deadline::Never(); }
  bool armed() const { return !deadline_.never(); }

 protected:
  ~TimerNode();

 private:
  friend class TimerWheel;
  // The deadline has passed and the node is disarmed. May destroy the node.
  virtual void OnTimer() = 0;

  TimerWheel& wheel_;
  Deadline deadline_ = Deadline::Never();
  int64_t slot_tick_ = 0;  // the tick at which the wheel looks at this node, while linked
};

// A ring of slots, one per 100 ms. Deadlines further away than one turn stay in their slot and are looked at once a
// turn. Must outlive its nodes.
class TimerWheel {
 public:
  static constexpr int64_t kTickNs = 100'000'000;

  explicit TimerWheel(int64_t now_ns) : tick_(now_ns / kTickNs) {}

  // Fires what is due at `now_ns`. Nodes that are armed meanwhile fire in a later call.
  void Advance(int64_t now_ns);

  // Nanoseconds until the next call is useful; negative when nothing is armed.
  int64_t UntilNextTick(int64_t now_ns) const;

 private:
  friend class TimerNode;
  static constexpr std::size_t kSlots = 512;

  void Link(TimerNode* node);

  std::array<ListNode, kSlots> slots_;
  int64_t tick_;  // all slots up to this tick have been looked at
  std::size_t linked_ = 0;
};

}  // namespace credbroker::net
