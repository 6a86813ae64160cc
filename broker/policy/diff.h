#pragma once

#include <string>
#include <vector>

#include "policy/rule_set.h"

namespace credbroker::policy {

// What changes between two policies, by meaning and not by text: `+ scope web-agent: push github acme/web
// refs/heads/x`.
struct Diff {
  std::vector<std::string> lines;  // sorted by subject; `-` before `+`
  bool widens = false;             // somebody may do something after it that nobody might before, or a trust is added
};

Diff DiffRules(const RuleSet& before, const RuleSet& after);

}  // namespace credbroker::policy
