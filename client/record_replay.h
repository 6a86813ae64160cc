#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/json.h"
#include "model/facts.h"
#include "model/grant.h"
#include "policy/rule_set.h"

namespace credbroker::client {

// A recorded request, as Decide saw it: what its record says, and no more. A record holds no body, no query value and not
// whether a push was proven a fast-forward; where those decide, it cannot be replayed.
struct Replay {
  std::vector<model::Facts> facts;  // every reading that the record allows: one, or a push's with and without the proof
  model::Grant grant;               // without scopes and narrowing, which the record does not have
  absl::Time at;
};

// Fails kBadArgument with why the record cannot be replayed: cut or masked texts, no session, a refusal that was not the
// policy's. `record` is of kind `intent` or `deny`. Pure, thread-safe.
absl::StatusOr<Replay> ReadReplay(const Json& record);

struct Ruling {
  bool allowed = false;
  std::string rule;
  std::string code;  // when denied
  bool operator==(const Ruling&) const = default;
};
Ruling Rule(const model::Facts& facts, const model::Grant& grant, const std::shared_ptr<const policy::RuleSet>& rules,
            absl::Time now);
// What the record says was decided.
Ruling RecordedRuling(const Json& record);
std::string RulingText(const Ruling& ruling);  // `allow by RULE`, `deny CODE by RULE`

// What `after` says to a request that was judged under `before`. Fails kBadArgument when `before` does not repeat the
// recorded ruling (the token was narrowed, or a body decided), or when the answer depends on what is not recorded.
absl::StatusOr<Ruling> Rejudge(const Json& record, const Replay& replay, const std::shared_ptr<const policy::RuleSet>& before,
                               const std::shared_ptr<const policy::RuleSet>& after);

}  // namespace credbroker::client
