#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/json.h"
#include "policy/rule_set.h"

namespace credbroker::client {

// What a policy would have said to requests that are in the record: the same Decide that edges use, on the facts that a record
// keeps (method, host, path, repository, refs, session, phase, label), at the record's time.

struct SimulatedChange {
  std::string id, time, session, asked;  // `push https://git.example/acme/web refs/heads/main`
  std::string before, after;             // `allow web-agent/...`, `deny no_rule`
};

struct Simulation {
  int same = 0;
  std::vector<SimulatedChange> changes;
  std::map<std::string, int> skipped;  // why a record cannot be replayed -> how many
};

// `records`: as RecordJson makes them; intents and denials are replayed, the others left alone. `scopes`: of each session.
// Not replayed: what was refused before a decision (framing, login, limits), tokens that were narrowed, sessions that are not
// known, records whose path was cut. Pure, thread-safe.
Simulation Simulate(const std::vector<Json>& records, const std::map<std::string, std::vector<std::string>>& scopes,
                    const std::shared_ptr<const policy::RuleSet>& rules);

}  // namespace credbroker::client
