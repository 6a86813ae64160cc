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
  std::string path, pattern;                      // kPathProtected: what it changes, and what protects that
  std::string_view effect_class = "push";
  bool proves_ancestry = false;
  bool reads_content = false;
  std::vector<std::string> protected_paths;  // patterns that hold for one of the refs
};

// Whether a push's ancestry and content are as the facts say, or taken as the best that could be found (to learn whether they
// matter): fast-forwards that touch nothing.
enum class Evidence { kAsStated, kAssumeGood };

// Whether one of the rules can want the pack to be read.
bool AnyReadsContent(std::span<const ScopedRule> rules);

// Judges all changes of a push; one refused refuses all. `rules` hold push rules of one repository. A push carries one
// credential, so all its refs must be allowed by rules that name the same one; what a rule denies counts whatever its
// credential.
PushVerdict JudgePush(std::span<const ScopedRule> rules, const model::GitFacts& git,
                      std::string_view session, Evidence evidence);

}  // namespace credbroker::policy
