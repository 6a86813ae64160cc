#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/git_object.h"
#include "wire/pack_store.h"

namespace credbroker::wire {

// Who wants to know of changed paths. Paths have no slash at either end; the root is empty.
class PathWatch {
 public:
  virtual ~PathWatch() = default;
  // Whether anything below this folder could matter: if not, it is not looked into.
  virtual bool Below(std::string_view path) const = 0;
  // A file, link or module at `path` was added, changed or taken away (or became a folder). `kind` is what it is now, or what
  // it was when it is gone.
  virtual void Changed(std::string_view path, TreeEntry::Kind kind) = 0;
};

// A pack and where its bytes are.
struct StoredPack {
  PackStore* objects = nullptr;
  ByteStore* bytes = nullptr;
};

// Going past a limit fails kBodyTooLarge.
struct PushWalkLimits {
  std::size_t max_tree_entries = 100'000;  // of one tree
  std::size_t max_tree_depth = 128;
  std::size_t max_parents = 64;     // of one commit
  std::size_t max_outside = 1'000;  // commits that the push stands on
  uint64_t max_compared = 20'000'000;       // entries of trees, over all comparisons
  uint64_t max_compared_at_once = 1'000'000;  // of one commit's
  uint64_t max_held = 400'000;                // in memory at a time: a folder of each side, and those above it
  uint64_t max_steps = 2'000'000;             // parents that all calls of Reached and Descends look at
};

// What a push does, read from its pack: every object that the tips reach inside the pack, the commits at which the history
// leaves it, and which paths each commit changes against its parents. A commit changes a path when it holds there what none
// of its parents holds: what a merge takes from one side is that side's change. Not thread-safe; slices of bounded work.
class PushWalk {
 public:
  // `pack` is resolved and outlives the walk.
  PushWalk(StoredPack pack, const PushWalkLimits& limits) : pack_(pack), limits_(limits), seen_(pack.objects->count()) {}

  void AddTip(std::string_view raw_id);
  // Goes on from the tips; true at the end. Fails kBadPack for objects that git's own checks would refuse, kStrayObject when
  // an object of the pack was not reached, kBodyTooLarge, and as PackStore::Read.
  absl::StatusOr<bool> Reach();

  // After Reach. Commits (or tags) that the push names and does not hold, raw ids.
  const std::set<std::string>& outside() const { return outside_; }
  // Commits of the pack.
  const std::vector<uint32_t>& commits() const { return commits_; }
  bool holds_commit(std::string_view raw_id) const;

  // Where a pushed tip leads to, through tags.
  struct Peeled {
    enum class Kind { kCommit, kOutside, kOther } kind = Kind::kOther;
    uint32_t commit = 0;   // kCommit
    std::string outside;   // kOutside
  };
  Peeled Peel(std::string_view raw_id) const;
  // The commits of the pack that `commit` reaches, itself included. Fails kBodyTooLarge.
  absl::StatusOr<std::vector<uint32_t>> Reached(uint32_t commit);
  // True when every step from `new_id` to its ancestor `old_id` lies in the pack. False proves nothing.
  bool Descends(std::string_view new_id, std::string_view old_id);

  // Tells `watch` what the commit changes. Trees and commits that are not in the pack are looked for in `known`; those that
  // are nowhere go to missing(), and then the answer is not whole. Fails as Reach.
  absl::Status Compare(uint32_t commit, std::span<const StoredPack> known, PathWatch& watch);
  const std::set<std::string>& missing() const { return missing_; }
  void ForgetMissing() { missing_.clear(); }

 private:
  using Text = std::shared_ptr<const std::string>;
  struct Comparison;
  absl::Status Visit(uint32_t index, std::size_t* work);
  absl::Status Follow(std::string_view raw_id, PackType type, bool outside);
  absl::StatusOr<Text> Find(std::string_view raw_id, PackType type, std::span<const StoredPack> known);
  absl::Status CompareTrees(Comparison& run, std::string_view now, std::span<const std::string> before, std::size_t depth);

  const StoredPack pack_;
  const PushWalkLimits limits_;
  std::vector<bool> seen_;
  uint32_t reached_ = 0;
  std::vector<uint32_t> todo_;
  std::vector<uint32_t> commits_;
  std::unordered_map<uint32_t, std::string> parents_;  // of commits: raw ids
  std::unordered_map<uint32_t, std::pair<std::string, PackType>> targets_;  // of tags
  std::set<std::string> outside_, missing_;
  uint64_t compared_ = 0, compared_before_ = 0, held_ = 0, steps_ = 0;
};

}  // namespace credbroker::wire
