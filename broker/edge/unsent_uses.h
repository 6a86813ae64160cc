#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "gate/gate.h"

namespace credbroker::edge {

// Uses of sessions and exceptions that the broker has not confirmed. What a failed report carried is said again; a report
// carries at most as many rows as the broker takes, the rest comes with the next. Not thread-safe.
class UnsentUses {
 public:
  static constexpr std::size_t kMaxReported = 10'000;       // rows of each kind in a report
  static constexpr int64_t kMaxCount = 1'000'000;   // uses in a row
  static constexpr std::size_t kMaxKept = 65'536;   // names of each kind; further ones are not counted

  void Add(const gate::Gate::Uses& uses);
  // What the next report carries.
  gate::Gate::Uses Batch() const;
  // The broker has that report.
  void Forget(const gate::Gate::Uses& arrived);
  bool empty() const { return uses_.sessions.empty() && uses_.exceptions.empty(); }

 private:
  gate::Gate::Uses uses_;
};

}  // namespace credbroker::edge
