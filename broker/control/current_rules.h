#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "policy/rule_set.h"

namespace credbroker::control {

// The policy in force: one immutable version, swapped whole. Never null. Thread-safe.
class CurrentRules {
 public:
  std::shared_ptr<const policy::RuleSet> Get() const {
    const std::lock_guard lock(mutex_);
    return rules_;
  }
  void Set(std::shared_ptr<const policy::RuleSet> rules) {
    const std::lock_guard lock(mutex_);
    rules_ = std::move(rules);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const policy::RuleSet> rules_ = policy::RuleSet::Empty();
};

}  // namespace credbroker::control
