#include "edge/push_check.h"

#include <algorithm>
#include <utility>

#include "base/macros.h"
#include "base/text.h"
#include "net/completion.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using model::GitFacts;
using model::RefChange;
using wire::PushWalk;

constexpr int kMaxRounds = 6;             // of fetches from the host
constexpr std::size_t kCommitsASlice = 16;

// Collects the first change that each pattern covers.
class Watch final : public wire::PathWatch {
 public:
  explicit Watch(const std::vector<policy::ProtectedPath>& patterns) : patterns_(patterns), found_(patterns.size()) {}

  bool Below(std::string_view path) const override {
    const policy::FoldedPath folded(path);
    return std::any_of(patterns_.begin(), patterns_.end(), [&](const auto& pattern) { return pattern.MayCover(folded); });
  }
  void Changed(std::string_view path, wire::TreeEntry::Kind kind) override {
    using Leaf = policy::ProtectedPath::Leaf;
    const Leaf leaf = kind == wire::TreeEntry::Kind::kFile ? Leaf::kFile : Leaf::kLink;
    const policy::FoldedPath folded(path);
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (found_[i].empty() && patterns_[i].Covers(folded, leaf)) found_[i] = path;
    }
  }
  const std::vector<std::string>& found() const { return found_; }

 private:
  const std::vector<policy::ProtectedPath>& patterns_;
  std::vector<std::string> found_;
};

std::string Raw(std::string_view hex) {
  std::string raw;
  base::HexDecode(hex, &raw);
  return raw;
}

}  // namespace

// A commit of the pack and what it touches.
struct PushCheck::Compared {
  uint32_t commit = 0;
  bool whole = false;
  std::vector<Touch> touched;
};

PushCheck::PushCheck(Worker& worker, std::shared_ptr<const gate::Caller> caller, const gate::RequestInfo& info, const model::Facts& facts,
                     const wire::PushRequest& push, policy::PushNeeds needs)
    : worker_(worker), caller_(std::move(caller)), info_(info), facts_(facts), push_(push), needs_(std::move(needs)) {
  const auto format = facts.git->changes.front().new_id.size() == 64 ? wire::ObjectFormat::kSha256 : wire::ObjectFormat::kSha1;
  if (needs_.content) {
    store_.emplace(format, wire::PackStoreLimits());
  } else {
    commits_.emplace(format, wire::PackLimits());
  }
  for (const std::string& text : needs_.protected_paths) {
    if (auto pattern = policy::ProtectedPath::Parse(text); pattern.ok()) patterns_.push_back(*std::move(pattern));
  }
}

void PushCheck::Look(std::string_view piece) {
  if (readable_.ok()) readable_ = store_ ? store_->Feed(piece) : commits_->Feed(piece);
}

base::Task<void> PushCheck::Finish(PushSpool& spool, GitFacts* git) {
  if (readable_.ok()) readable_ = store_ ? store_->Finish() : commits_->Finish();
  if (!store_) {
    ProveAncestry(git, nullptr);
    co_return;
  }
  model::PushContent& content = git->content;
  content.state = model::PushContent::State::kRead;
  content.pack_bytes = spool.size();
  absl::Status status = readable_;
  if (status.ok()) status = co_await Read(spool, git);
  content.objects = store_->count();
  content.fault = base::CodeOf(status);
  if (content.fault == ErrorCode::kBadGitRequest) content.fault = ErrorCode::kBadPack;
  if (content.fault != ErrorCode::kNone) ProveAncestry(git, nullptr);
}

// A commit whose parents the client says it does not have would begin a new history at the host.
void PushCheck::ProveAncestry(GitFacts* git, PushWalk* walk) {
  const bool cut = commits_ && std::any_of(push_.shallow.begin(), push_.shallow.end(), [&](const auto& id) { return commits_->Holds(id); });
  for (RefChange& change : git->changes) {
    if (change.kind != RefChange::Kind::kUpdate) continue;
    const bool proven = walk != nullptr ? walk->Descends(Raw(change.new_id), Raw(change.old_id))
                                        : commits_ && readable_.ok() && !cut && commits_->Descends(change.new_id, change.old_id);
    change.ancestry = proven ? RefChange::Ancestry::kFastForward : RefChange::Ancestry::kUnproven;
  }
}

// The pack as a whole; its error is the content's fault.
base::Task<absl::Status> PushCheck::Read(PushSpool& spool, GitFacts* git) {
  while (true) {
    ASSIGN_OR_CO_RETURN(const bool done, store_->Resolve(spool));
    if (done) break;
    co_await net::NextBatch(worker_.loop);
  }
  git->content.largest_blob = store_->largest_blob();
  if (store_->unresolved() != 0) co_return base::Error(ErrorCode::kContentRuleUndecided, "a thin pack");
  PushWalk walk({&*store_, &spool}, {});
  for (const RefChange& change : git->changes) {
    if (change.kind != RefChange::Kind::kDelete) walk.AddTip(Raw(change.new_id));
  }
  while (true) {
    ASSIGN_OR_CO_RETURN(const bool done, walk.Reach());
    if (done) break;
    co_await net::NextBatch(worker_.loop);
  }
  for (const std::string& id : push_.shallow) {
    if (walk.holds_commit(Raw(id))) co_return base::Error(ErrorCode::kShallowPush);
  }
  ProveAncestry(git, &walk);
  if (patterns_.empty()) co_return absl::OkStatus();
  const absl::Status found = co_await FindTouched(walk, git);
  git->content.paths_fault = base::CodeOf(found);
  if (git->content.paths_fault == ErrorCode::kBadGitRequest) git->content.paths_fault = ErrorCode::kBadPack;
  co_return absl::OkStatus();
}

base::Task<absl::Status> PushCheck::FindTouched(PushWalk& walk, GitFacts* git) {
  BaseReader base(worker_, caller_, info_, facts_);
  std::vector<Compared> commits;
  for (const uint32_t commit : walk.commits()) commits.push_back({commit, false, {}});
  // What the push stands on must be the host's own history: a commit of a fork, or one that was dropped, could bring anything.
  absl::Status status = co_await base.Prove(walk.outside());
  if (status.ok()) status = co_await CompareAll(walk, base, &commits);
  std::vector<const Compared*> by_index(store_->count());
  for (const Compared& one : commits) by_index[one.commit] = &one;
  git->content.asked = needs_.protected_paths;
  for (const RefChange& change : git->changes) {
    if (change.kind == RefChange::Kind::kDelete) continue;
    const PushWalk::Peeled tip = walk.Peel(Raw(change.new_id));
    if (tip.kind == PushWalk::Peeled::Kind::kOther && status.ok()) status = base::Error(ErrorCode::kContentRuleUndecided, "a tip that is no commit");
    if (tip.kind != PushWalk::Peeled::Kind::kCommit) continue;
    std::set<std::size_t> seen;
    co_await net::NextBatch(worker_.loop);
    const auto reached = walk.Reached(tip.commit);
    if (!reached.ok()) co_return reached.status();
    for (const uint32_t commit : *reached) {
      for (const Touch& touch : by_index[commit]->touched) {
        if (seen.insert(touch.pattern).second) git->content.touched.push_back({change.ref, patterns_[touch.pattern].text(), touch.path});
      }
    }
  }
  co_return status;
}

base::Task<absl::Status> PushCheck::CompareAll(PushWalk& walk, BaseReader& base, std::vector<Compared>* commits) {
  for (int round = 0; round <= kMaxRounds; ++round) {
    std::set<std::string> missing;
    std::size_t count = 0;
    for (Compared& one : *commits) {
      if (one.whole) continue;
      if (++count % kCommitsASlice == 0) co_await net::NextBatch(worker_.loop);
      Watch watch(patterns_);
      walk.ForgetMissing();
      CO_RETURN_IF_ERROR(walk.Compare(one.commit, base.packs(), watch));
      one.whole = walk.missing().empty();
      missing.insert(walk.missing().begin(), walk.missing().end());
      one.touched.clear();
      for (std::size_t i = 0; i < watch.found().size(); ++i) {
        if (!watch.found()[i].empty()) one.touched.push_back({i, watch.found()[i]});
      }
    }
    if (missing.empty()) co_return absl::OkStatus();
    CO_RETURN_IF_ERROR(co_await base.Fetch(missing));
  }
  co_return base::Error(ErrorCode::kContentRuleUndecided, "trees that the host does not give");
}

}  // namespace credbroker::edge
