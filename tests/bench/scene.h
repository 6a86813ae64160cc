#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "audit/ledger.h"
#include "model/facts.h"
#include "model/grant.h"
#include "model/record.h"
#include "policy/rule_set.h"
#include "token/claims.h"

namespace credbroker::bench {

// What the benchmarks share: one policy, one session, the requests that it sends. What cannot be set up ends the program.

// The value, or the end of the program with the reason.
template <typename T>
T Must(absl::StatusOr<T> result);
void Must(const absl::Status& status);

// A policy of one scope, `web-agent`, with acme/web, an endpoint, and so many other repositories (0 to 100,000).
std::string PolicyText(int other_repositories);
std::shared_ptr<const policy::RuleSet> Rules(int other_repositories);

// Claims of a token under that scope, in time.
token::Claims SampleClaims();
model::Grant SampleGrant();

model::Facts EndpointFacts();
model::Facts FetchFacts();
model::Facts PushFacts(int refs);  // creations below the session's own prefix: allowed
model::Facts DeniedFacts();        // a repository of the same host that no rule names

// The records of one allowed request, as the gate writes them.
model::Record SampleIntent();
model::Record SampleOutcome();

// A folder that is removed with everything in it. $TMPDIR decides on which disk it is.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A ledger of its own in a folder of its own.
struct OwnLedger {
  OwnLedger();
  Folder folder;
  std::unique_ptr<audit::Ledger> ledger;
};

[[noreturn]] void Fail(const absl::Status& status);

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) Fail(result.status());
  return *std::move(result);
}

}  // namespace credbroker::bench
