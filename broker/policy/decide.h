#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/decision.h"
#include "model/facts.h"
#include "model/grant.h"
#include "policy/catalogue.h"
#include "policy/rule_set.h"

namespace credbroker::policy {

// The one decision. Pure and total: the same input gives the same answer, nothing is read or written, every input has
// an answer, and what no rule allows is denied. `rules` is not null; an Allow keeps it alive. Whether the grant is
// genuine and in time is the token room's business; its narrowing, phase and label are judged here.
//
// The rules of a session's scopes add up: what one of them allows is allowed. Entries that deny (`deny` of endpoints,
// `deny_refs`, `deny_paths`) win over every scope of the session. One refused ref refuses the whole push.
//
// Connections (Facts::Kind::kConnect): kIntercept when a rule of the session reaches host and port in this phase; else
// kTunnel when an active exception names the host, no service claims it and the token is narrowed by hosts at most.
//
// Plain http: on a service's host only with `plain_http: allow`; on an egress host when the entry names port 80
// (`mirror.example:80`) or has `plain_http: allow`. A host without a port in an entry with `plain_http: allow` also
// means port 80.
//
// Updates under `force: deny` hold for fast-forwards only. The change's ancestry must say kFastForward; anything else
// is judged as forced (and so is every update of a tag). A rule on content (`deny_paths`, `max_push_bytes`, ...) holds for a
// push whose content the facts state. See NeedsOfPush.
model::Decision Decide(const model::Facts& facts, const model::Grant& grant,
                       const std::shared_ptr<const RuleSet>& rules, absl::Time now);

// What of the request's body the decision depends on. The edge reads it before Decide, or refuses. kNone outside of forges' APIs.
BodyRule BodyRuleOf(const model::Facts& facts, const RuleSet& rules);

// What the edge must find out of a push before it calls Decide: something only when the push would be allowed if the best
// were found. It then reads the pack (and asks the host), writes what it proved into the facts, and calls Decide.
struct PushNeeds {
  bool ancestry = false;  // of its updates
  bool content = false;   // sizes, and that no object is beside what its refs reach
  std::vector<std::string> protected_paths;  // and which of these its commits change

  bool any() const { return ancestry || content; }
};
PushNeeds NeedsOfPush(const model::Facts& facts, const model::Grant& grant, const std::shared_ptr<const RuleSet>& rules);

}  // namespace credbroker::policy
