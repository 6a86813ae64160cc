#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/facts.h"
#include "policy/catalogue.h"
#include "policy/push.h"
#include "policy/rule_set.h"

namespace credbroker::policy {

// One API request of a forge, and the session's scopes that count for it.
struct ApiCase {
  const model::Facts& facts;
  const RuleSet::ServiceMatch& match;
  std::span<const RuleSet::IndexedScope* const> scopes;
  std::string_view session;
  absl::Time now;
};

struct ApiVerdict {
  base::ErrorCode code = base::ErrorCode::kNone;  // kNone: allowed by `by`
  ScopedRule by;
  std::string rule;               // of an Allow always; of a refusal when a rule made it
  std::string_view effect_class;  // static text; empty when the operation is not known
  std::string ref;                // a ref that was refused
  bool closed = false;            // no endpoint rule can allow it
};

// Judges by the catalogue, the body's rule, the `api` lists and `dangerous:` entries. An operation that moves a ref must be
// allowed as a push of that ref, too: the API opens nothing that git does not. Operations of the host, not of a repository,
// are open to `read-host`, and to `read-outside` in a dangerous entry; all others to nobody. `*repository` becomes the name
// that the request gives, for narrowing.
ApiVerdict JudgeApi(const ApiCase& request, std::string* repository);

// Some rule of the session for the repository grants the class. For GraphQL, which may name several.
ApiVerdict JudgeClass(const ApiCase& request, std::string_view repository, bool by_id, std::string_view effect);

// One rule's word on a class.
ApiVerdict JudgeRule(const ApiCase& request, const ScopedRule& rule, std::string_view effect);

// JudgeClass, and the ref's change as a push.
ApiVerdict JudgeRef(const ApiCase& request, std::string_view repository, std::string_view effect, const model::RefChange& change);

}  // namespace credbroker::policy
