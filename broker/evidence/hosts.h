#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "policy/rule_set.h"

namespace credbroker::evidence {

// One place that some session may reach (S8).
struct ReachableHost {
  std::string host;   // `git.example:8443`, `*.mirror.example`
  std::string why;    // `service github`, `exception EX-7`
  std::string rules;  // the scopes that reach it, or the phases of an egress entry
  bool inspected = true;  // false: its bytes pass unread
};

// Every host that the policy lets anybody reach, and nothing beside: no host is built in. Sorted, each once for each reason.
std::vector<ReachableHost> ReachableHosts(const policy::RuleSet& rules, absl::Time now);

}  // namespace credbroker::evidence
