#include "wire/pack_commits.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "wire/git_delta.h"
#include "wire/git_object.h"
#include "wire/pack_stream.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

// What one commit costs beside its text and its parents: its place, its entry by id and what the allocator adds.
constexpr std::size_t kCommitOverhead = 288;

absl::Status TooLarge(std::string_view why) { return base::Error(ErrorCode::kBodyTooLarge, why); }

bool IdFromHex(std::string_view hex, std::string* raw) {
  return base::HexDecode(hex, raw) && base::HexEncode(*raw) == hex;
}

}  // namespace

class PackCommits::Impl final : public PackSink {
 public:
  Impl(ObjectFormat format, const PackLimits& limits)
      : limits_(limits),
        format_(format),
        id_bytes_(format == ObjectFormat::kSha1 ? 20 : 32),
        steps_left_(limits.max_steps),
        stream_(format, {limits.max_objects, limits.max_inflated_bytes, limits.max_ratio}, *this) {}

  absl::Status Feed(std::string_view bytes) { return stream_.Feed(bytes); }
  absl::Status Finish() { return stream_.Finish(); }

  bool Descends(std::string_view new_id, std::string_view old_id) {
    std::string from, to;
    if (!stream_.finished() || !IdFromHex(new_id, &from) || !IdFromHex(old_id, &to)) return false;
    if (to.size() != id_bytes_ || from == to) return false;
    const Commit* commit = Find(from);
    if (commit == nullptr) return false;
    std::vector<const Commit*> todo = {commit};
    std::unordered_set<const Commit*> seen = {commit};
    while (!todo.empty()) {
      commit = todo.back();
      todo.pop_back();
      for (std::size_t at = 0; at < commit->parents.size(); at += id_bytes_) {
        if (steps_left_ == 0) return false;
        --steps_left_;
        const std::string_view parent = std::string_view(commit->parents).substr(at, id_bytes_);
        if (parent == to) return true;
        const Commit* next = Find(parent);
        if (next != nullptr && seen.insert(next).second) todo.push_back(next);
      }
    }
    return false;
  }

  std::size_t commit_count() const { return by_id_.size(); }
  bool Holds(std::string_view id) const {
    std::string raw;
    return IdFromHex(id, &raw) && Find(raw) != nullptr;
  }

  absl::Status Begin(const PackObjectHead& head, Want* want) override {
    const bool commit = head.type == PackType::kCommit;
    start_ = head.offset;
    content_.clear();
    base_ = head.type == PackType::kIdDelta       ? Find(head.base_id)
            : head.type == PackType::kOffsetDelta ? FindAt(head.base_offset)
                                                  : nullptr;
    if (commit && head.size > limits_.max_commit_bytes) return TooLarge("a commit");
    keep_ = commit || (base_ != nullptr && base_->depth < limits_.max_delta_depth);
    if (head.size > limits_.max_commit_bytes) keep_ = false;
    *want = keep_ ? Want::kContent : Want::kNothing;
    return absl::OkStatus();
  }

  absl::Status Content(std::string_view piece) override {
    content_.append(piece);
    return absl::OkStatus();
  }

  absl::Status End() override {
    if (keep_) RETURN_IF_ERROR(base_ == nullptr ? AddCommit(std::move(content_), 0) : ApplyDelta());
    content_ = {};
    return absl::OkStatus();
  }

 private:
  struct Commit {
    uint64_t offset = 0;
    std::string content;
    std::string parents;  // raw ids
    int depth = 0;        // of deltas
  };

  absl::Status ApplyDelta() {
    std::string content;
    const bool applied = ApplyGitDelta(base_->content, content_, limits_.max_commit_bytes, &content);
    // A few bytes of delta can ask for a megabyte, so what it gave counts, even when it broke off.
    RETURN_IF_ERROR(stream_.CountInflated(content.size()));
    return applied ? AddCommit(std::move(content), base_->depth + 1) : absl::OkStatus();
  }

  absl::Status AddCommit(std::string content, int depth) {
    CommitLinks links;
    ReadCommit(content, id_bytes_, &links);  // one that cannot be read has no parents: it proves nothing
    links.parents.shrink_to_fit();
    content.shrink_to_fit();
    kept_bytes_ += content.size() + links.parents.size() + kCommitOverhead;
    if (kept_bytes_ > limits_.max_kept_bytes) return TooLarge("commits in all");
    std::string id = ObjectId(format_, "commit", content);
    commits_.push_back({start_, std::move(content), std::move(links.parents), depth});
    by_id_.emplace(std::move(id), &commits_.back());
    return absl::OkStatus();
  }

  const Commit* Find(std::string_view raw_id) const {
    const auto found = by_id_.find(raw_id);
    return found == by_id_.end() ? nullptr : found->second;
  }

  const Commit* FindAt(uint64_t offset) const {
    const auto before = [](const Commit& commit, uint64_t wanted) { return commit.offset < wanted; };
    const auto found = std::lower_bound(commits_.begin(), commits_.end(), offset, before);
    return found == commits_.end() || found->offset != offset ? nullptr : &*found;
  }

  const PackLimits limits_;
  const ObjectFormat format_;
  const std::size_t id_bytes_;
  std::size_t kept_bytes_ = 0;
  uint64_t steps_left_;

  // The object under way.
  uint64_t start_ = 0;
  const Commit* base_ = nullptr;  // of a delta, when it is a commit
  bool keep_ = false;
  std::string content_;

  std::deque<Commit> commits_;  // by offset; addresses stay
  // A tree, because a sender can choose ids that would all fall into one bucket of a hash table.
  std::map<std::string, const Commit*, std::less<>> by_id_;
  PackStream stream_;
};

PackCommits::PackCommits(ObjectFormat format, const PackLimits& limits)
    : impl_(std::make_unique<Impl>(format, limits)) {}
PackCommits::~PackCommits() = default;
absl::Status PackCommits::Feed(std::string_view bytes) { return impl_->Feed(bytes); }
absl::Status PackCommits::Finish() { return impl_->Finish(); }
bool PackCommits::Descends(std::string_view new_id, std::string_view old_id) const {
  return impl_->Descends(new_id, old_id);
}
bool PackCommits::Holds(std::string_view id) const { return impl_->Holds(id); }
std::size_t PackCommits::commit_count() const { return impl_->commit_count(); }

}  // namespace credbroker::wire
