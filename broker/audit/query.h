#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace credbroker::audit {

// Which records are wanted. Empty fields do not filter; all given ones must hold.
struct Filter {
  std::string session, requester, rule, effect_class, exception, request_id, token, credential, host, code;
  std::string repository;  // without case, with or without final `.git`
  std::string kind;        // intent, outcome, deny, ...
  std::string action;
  std::string decision;    // allow (intents and outcomes) or deny
  int64_t policy_version = 0;  // 0: every version
  // Where `visible_repositories` is given, records that name another repository do not match (a reviewer's bound).
  std::vector<std::string> visible_repositories;
  absl::Time since = absl::InfinitePast();   // inclusive
  absl::Time until = absl::InfiniteFuture(); // exclusive
  std::size_t limit = 100;                   // the newest ones; at most kMaxQueryRecords
};

inline constexpr std::size_t kMaxQueryRecords = 10'000;

// One record of the answer.
struct Entry {
  std::string folder;
  uint64_t index = 0;
  absl::Time time;
  std::string line;  // JSON, an outcome joined with its intent (audit/outcomes.h)
};

// True when the record in `line`, an outcome joined with its intent, is wanted. A line that is no record matches nothing. Pure, thread-safe.
bool Matches(const Filter& filter, std::string_view line);

// The newest `limit` wanted records of several ledgers, in ledger order: by time, then folder, then index, oldest
// first. Records of one ledger stay in its order. Fails kFileUnreadable, kBadArgument for a limit above the maximum.
// Memory: `limit` records, and the outcomes whose intents stand further back. Thread-safe.
absl::StatusOr<std::vector<Entry>> Query(const std::vector<std::string>& folders, const Filter& filter);

}  // namespace credbroker::audit
