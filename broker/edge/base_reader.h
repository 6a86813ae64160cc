#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/task.h"
#include "edge/push_spool.h"
#include "edge/worker.h"
#include "gate/passage.h"
#include "wire/host_fetch.h"
#include "wire/push_walk.h"

namespace credbroker::edge {

// What a push stands on, as the git host has it: whether the host's branches and tags reach a commit, and the trees of one.
// The edge asks the host itself, under a passage of its own with the push's credential; nothing of the answers goes to the
// sandbox. Loop thread only.
class BaseReader {
 public:
  // `push` are the facts of the push. Everything outlives the reader.
  BaseReader(Worker& worker, std::shared_ptr<const gate::Caller> caller, const gate::RequestInfo& info, const model::Facts& push);
  ~BaseReader();
  BaseReader(const BaseReader&) = delete;
  BaseReader& operator=(const BaseReader&) = delete;

  // OK when branches or tags of the host reach each of these commits (or are these tags); raw ids. Fails
  // kContentRuleUndecided when that cannot be shown, as Gate::Open, and as CallUpstream when the host cannot be reached.
  base::Task<absl::Status> Prove(const std::set<std::string>& ids);
  // Fetches commits and trees by their raw ids, with the trees below. Fails as above.
  base::Task<absl::Status> Fetch(const std::set<std::string>& ids);
  const std::vector<wire::StoredPack>& packs() const { return packs_; }

 private:
  base::Task<absl::Status> Open();
  base::Task<absl::Status> ProveOne(const std::string& id, const std::vector<std::string>& tips);
  base::Task<absl::Status> Gather(const std::string& body, std::string* out);  // one answer, held
  base::Task<absl::Status> Call(std::string body, const std::function<absl::Status(std::string_view)>& take);

  struct Held {
    std::unique_ptr<PushSpool> spool;
    std::unique_ptr<wire::PackStore> store;
  };

  Worker& worker_;
  const std::shared_ptr<const gate::Caller> caller_;
  const gate::RequestInfo info_;
  model::Facts facts_;
  std::string repository_path_;
  std::optional<gate::Passage> passage_;
  wire::HostOffer offer_;
  std::vector<Held> held_;
  std::vector<wire::StoredPack> packs_;
  int64_t bytes_down_ = 0;
  base::ErrorCode failed_ = base::ErrorCode::kNone;
};

}  // namespace credbroker::edge
