#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace credbroker::client {

// Expectations of a policy, kept beside it and checked offline, with the Decide that edges use.
//
//   policy: policy.yaml          # a file or folder, relative to this file; --policy wins
//   questions:
//     - {scope: web-agent, git: push, repo: https://github.com/acme/web, ref: refs/heads/main, expect: deny}
//     - {scope: web-agent, method: GET, url: https://api.llm.example/v1/models, expect: deny, reason: no_rule}
//
// A question is as a row of `explain --batch` and has besides: scope, expect (allow or deny), and if wanted phase
// (default agent), label (default agent), name, rule, reason, effect_class, credential: what is given must be answered
// so.
struct PolicyTestResult {
  std::string name;  // the question's name, or what it asks
  bool held = false;
  std::string expected;  // `deny no_rule`
  std::string answered;  // `allow web-agent/...`
};

// Runs the file. Fails kBadArgument with the line for a file that cannot be read so, kScopeNotFound, kPolicyInvalid,
// kFileUnreadable, kTooLarge. Limit: 1 MiB.
absl::StatusOr<std::vector<PolicyTestResult>> RunPolicyTestFile(const std::string& path, const std::string& policy_path,
                                                                absl::Time now);

}  // namespace credbroker::client
