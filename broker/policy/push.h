#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/facts.h"
#include "policy/rules.h"

namespace credbroker::policy {

// A repository rule and the scope that holds it.
struct ScopedRule {
  const Scope* scope = nullptr;
  const RepositoryRule* rule = nullptr;
};

struct PushVerdict {
  base::ErrorCode code = base::ErrorCode::kNone;  // kNone: allowed
  ScopedRule by;                                  // the rule that allows, or that refuses; may be empty
  std::string_view rule_part;                     // what of the rule spoke: `git.push`, `git.push.deny_refs`
  std::string ref;                                // the first refused ref
  std::string_view effect_class = "push";
  bool proves_ancestry = false;
};

// Whether old-to-new ancestry is as the facts say, or taken as fast-forward (to learn whether it matters).
enum class Ancestry { kAsStated, kAssumeFastForward };

// Judges all changes of a push; one refused refuses all. `rules` hold push rules of one repository. A push carries one
// credential, so all its refs must be allowed by rules that name the same one; what a rule denies counts whatever its
// credential.
PushVerdict JudgePush(std::span<const ScopedRule> rules, const std::vector<model::RefChange>& changes,
                      std::string_view session, Ancestry ancestry);

}  // namespace credbroker::policy
