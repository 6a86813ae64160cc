#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "evidence/declared.h"
#include "policy/rule_set.h"

namespace credbroker::evidence {

// The result of the newest pilot run (client/pilot.h), as the broker keeps it.
struct PilotResult {
  absl::Time at;
  std::string version, config_digest;  // of then
  bool passed = false;
  std::string note;  // the signed note that holds the findings
};

// Everything that answers are made from: what runs, what it is told, what it did. Plain values, taken in one moment.
struct Situation {
  std::string version;
  absl::Time now;
  std::string installation;
  std::shared_ptr<const policy::RuleSet> rules;  // not null
  std::string policy_author;
  absl::Time policy_at = absl::InfinitePast();

  std::vector<std::string> listeners;  // `proxy http://127.0.0.1:7480`
  std::vector<std::string> edges;      // names of the connected ones
  bool session_sockets = false;
  std::string durability;              // flush, sync
  std::string master_key;              // where it comes from: `file keys/master.key`
  std::string ca_fingerprint;
  absl::Time ca_expires = absl::InfiniteFuture();
  std::string retention = "kept until the operator removes it";  // of the ledgers

  int open_sessions = 0;
  int live_tokens = 0;
  std::map<std::string, int64_t> exception_uses;  // by id
  struct Ledger {
    std::string name;
    uint64_t entries = 0;
  };
  std::vector<Ledger> ledgers;
  std::vector<std::string> secrets_missing;  // named by the policy, not put

  Declared declared;
  std::optional<PilotResult> pilot;

  // SHA-256 of what is configured: policy, listeners, durability, keys' source, declared fields. The same input, the same
  // digest; an answer or a pilot result of another digest is stale.
  std::string ConfigDigest() const;
};

}  // namespace credbroker::evidence
