#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/task.h"
#include "edge/base_reader.h"
#include "edge/push_spool.h"
#include "edge/worker.h"
#include "policy/decide.h"
#include "wire/pack_commits.h"
#include "wire/pack_store.h"
#include "wire/push_walk.h"
#include "wire/receive_pack.h"

namespace credbroker::edge {

// Finds out of a push what the rules ask (policy::PushNeeds) and writes it into the facts. It never refuses: what cannot be
// found out is said so, and the decision is another's. Loop thread only; the loop runs on between slices of the work.
class PushCheck {
 public:
  // Everything outlives the check.
  PushCheck(Worker& worker, std::shared_ptr<const gate::Caller> caller, const gate::RequestInfo& info, const model::Facts& facts,
            const wire::PushRequest& push, policy::PushNeeds needs);

  // The next bytes of the pack.
  void Look(std::string_view piece);
  // After the last of them; `spool` holds the pack. Fills in the changes' ancestry and the content.
  base::Task<void> Finish(PushSpool& spool, model::GitFacts* git);

 private:
  struct Touch {
    std::size_t pattern;
    std::string path;
  };
  struct Compared;
  void ProveAncestry(model::GitFacts* git, wire::PushWalk* walk);
  base::Task<absl::Status> Read(PushSpool& spool, model::GitFacts* git);
  base::Task<absl::Status> FindTouched(wire::PushWalk& walk, model::GitFacts* git);
  base::Task<absl::Status> CompareAll(wire::PushWalk& walk, BaseReader& base, std::vector<Compared>* commits);

  Worker& worker_;
  const std::shared_ptr<const gate::Caller> caller_;
  const gate::RequestInfo& info_;
  const model::Facts& facts_;
  const wire::PushRequest& push_;
  const policy::PushNeeds needs_;
  absl::Status readable_;  // a pack that cannot be read proves nothing
  std::vector<policy::ProtectedPath> patterns_;
  std::optional<wire::PackCommits> commits_;  // for ancestry alone
  std::optional<wire::PackStore> store_;      // for content
};

}  // namespace credbroker::edge
