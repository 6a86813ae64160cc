#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/facts.h"
#include "model/grant.h"
#include "policy/rule_set.h"

namespace credbroker::policy {

// A question as a person or a batch line puts it: either a request, or a git operation.
struct Question {
  std::string method = "GET";
  std::string url;  // `https://host/path`; for method CONNECT `host:port`

  std::string git;   // "fetch", "push", or empty for a request
  std::string repo;  // URL of the repository
  std::string ref;   // pushes: full name
  bool create = false;
  bool remove = false;
  // What the body says, or why it cannot be read (forge/api_body.h). Which repository a node id is of is known to an edge alone, from
  // the session's earlier answers: here a mutation that names one is answered as with an id that nobody has seen.
  std::shared_ptr<const model::BodyFacts> body = nullptr;
  base::ErrorCode body_error = base::ErrorCode::kNone;
  bool force = false;  // an update without it is taken as a proven fast-forward
  std::string path;    // pushes: a file that the push changes; without it the push is taken to touch nothing protected
};

struct Explanation {
  std::string decision;  // "allow", "deny"
  std::string rule;
  std::string effect_class;
  std::string credential;
  std::string exception;
  std::string reason_code;  // the catalogue's word; empty for allow
  std::string next_step;    // empty for allow
  int64_t policy_version = 0;
  std::vector<std::string> conditions;  // of an allowed push: what its content must keep to
};

// The facts of a question. Fails as a request of that form would at the edge: kBadHost, kBadPath, kMethodNotSupported,
// kBadArgument (neither request nor git, a push without ref).
absl::StatusOr<model::Facts> FactsOf(const Question& question);

// The answer that the edge would give, from the same Decide. A question that cannot be read is a deny with its reason.
// For an https URL whose host is tunnelled under an exception the answer is the tunnel's.
Explanation Explain(const Question& question, const model::Grant& grant, const std::shared_ptr<const RuleSet>& rules,
                    absl::Time now);

// A grant as a new session under `scope` would have, for questions without a session. `{session}` becomes `SESSION`.
model::Grant SampleGrant(const std::string& scope, model::Phase phase, model::Label label);

}  // namespace credbroker::policy
