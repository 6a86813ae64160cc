#include "wire/push_walk.h"

#include <map>
#include <optional>
#include <unordered_set>

#include "absl/container/inlined_vector.h"
#include "base/error.h"
#include "base/macros.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

constexpr std::size_t kSliceBytes = std::size_t{1} << 20;
constexpr std::size_t kSliceObjects = 512;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadPack, why); }
absl::Status TooLarge(std::string_view why) { return base::Error(ErrorCode::kBodyTooLarge, why); }

PackType TypeOf(std::string_view name) {
  if (name == "commit") return PackType::kCommit;
  if (name == "tree") return PackType::kTree;
  return name == "blob" ? PackType::kBlob : PackType::kTag;
}

bool SameLeaf(const TreeEntry* a, const TreeEntry* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->mode == b->mode && a->id == b->id;
}

bool IsFolder(const std::optional<TreeEntry>& entry) { return entry && entry->kind == TreeEntry::Kind::kDirectory; }

const TreeEntry* Leaf(const std::optional<TreeEntry>& entry) { return entry && !IsFolder(entry) ? &*entry : nullptr; }

std::string FolderId(const std::optional<TreeEntry>& entry) { return IsFolder(entry) ? std::string(entry->id) : std::string(); }

}  // namespace

void PushWalk::AddTip(std::string_view raw_id) {
  const auto index = pack_.objects->Find(raw_id);
  if (!index) {
    outside_.emplace(raw_id);
  } else if (!seen_[*index]) {
    seen_[*index] = true;
    todo_.push_back(*index);
  }
}

// Goes to an object that another one names. `outside`: it may be what the host holds already.
absl::Status PushWalk::Follow(std::string_view raw_id, PackType type, bool outside) {
  const auto index = pack_.objects->Find(raw_id);
  if (!index) {
    if (outside) outside_.emplace(raw_id);
    return outside_.size() > limits_.max_outside ? TooLarge("commits that a push stands on") : absl::OkStatus();
  }
  if (pack_.objects->type(*index) != type) return Bad("an object of another type than the one that names it says");
  if (seen_[*index]) return absl::OkStatus();
  seen_[*index] = true;
  todo_.push_back(*index);
  return absl::OkStatus();
}

absl::Status PushWalk::Visit(uint32_t index, std::size_t* work) {
  const PackType type = pack_.objects->type(index);
  const std::size_t id_bytes = pack_.objects->id_bytes();
  if (type == PackType::kBlob) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Text text, pack_.objects->Read(index, *pack_.bytes));
  *work += text->size();
  if (type == PackType::kTree) {
    RETURN_IF_ERROR(CheckTree(*text, id_bytes, limits_.max_tree_entries));
    TreeReader reader(*text, id_bytes);
    for (TreeEntry entry; reader.Next(&entry);) {
      if (entry.kind == TreeEntry::Kind::kModule) continue;
      RETURN_IF_ERROR(Follow(entry.id, entry.kind == TreeEntry::Kind::kDirectory ? PackType::kTree : PackType::kBlob, false));
    }
    return absl::OkStatus();
  }
  if (type == PackType::kTag) {
    std::string target;
    std::string_view name;
    if (!ReadTag(*text, id_bytes, &target, &name)) return Bad("a tag that cannot be read");
    const PackType of = TypeOf(name);
    RETURN_IF_ERROR(Follow(target, of, of == PackType::kCommit || of == PackType::kTag));
    targets_.emplace(index, std::make_pair(std::move(target), of));
    return absl::OkStatus();
  }
  CommitLinks links;
  if (!ReadCommit(*text, id_bytes, &links)) return Bad("a commit that cannot be read");
  if (links.parents.size() > limits_.max_parents * id_bytes) return TooLarge("parents of a commit");
  RETURN_IF_ERROR(Follow(links.tree, PackType::kTree, false));
  for (std::size_t at = 0; at < links.parents.size(); at += id_bytes) {
    RETURN_IF_ERROR(Follow(std::string_view(links.parents).substr(at, id_bytes), PackType::kCommit, true));
  }
  commits_.push_back(index);
  parents_.emplace(index, std::move(links.parents));
  return absl::OkStatus();
}

absl::StatusOr<bool> PushWalk::Reach() {
  std::size_t work = 0;
  for (std::size_t count = 0; !todo_.empty(); ++count) {
    if (count == kSliceObjects || work > kSliceBytes) return false;
    const uint32_t index = todo_.back();
    todo_.pop_back();
    ++reached_;
    RETURN_IF_ERROR(Visit(index, &work));
  }
  // The host would serve them by their ids (CVE-2025-54586).
  if (reached_ != pack_.objects->count()) return base::Error(ErrorCode::kStrayObject);
  return true;
}

bool PushWalk::holds_commit(std::string_view raw_id) const {
  const auto index = pack_.objects->Find(raw_id);
  return index && pack_.objects->type(*index) == PackType::kCommit;
}

PushWalk::Peeled PushWalk::Peel(std::string_view raw_id) const {
  std::string id(raw_id);
  PackType type = PackType::kCommit;  // what an id outside is taken for: the host's refs say what it is
  while (true) {
    const auto index = pack_.objects->Find(id);
    if (!index && (type == PackType::kCommit || type == PackType::kTag)) return {Peeled::Kind::kOutside, 0, id};
    if (!index) return {};
    if (pack_.objects->type(*index) == PackType::kCommit) return {Peeled::Kind::kCommit, *index, {}};
    const auto target = targets_.find(*index);
    if (target == targets_.end()) return {};
    id = target->second.first;  // ids are digests: a tag cannot name itself
    type = target->second.second;
  }
}

absl::StatusOr<std::vector<uint32_t>> PushWalk::Reached(uint32_t commit) {
  const std::size_t id_bytes = pack_.objects->id_bytes();
  std::vector<uint32_t> todo = {commit}, out;
  std::vector<bool> seen(pack_.objects->count());
  seen[commit] = true;
  while (!todo.empty()) {
    const uint32_t at = todo.back();
    todo.pop_back();
    out.push_back(at);
    const std::string& parents = parents_.at(at);
    if (++steps_ > limits_.max_steps) return TooLarge("steps through history");
    for (std::size_t i = 0; i < parents.size(); i += id_bytes) {
      const auto parent = pack_.objects->Find(std::string_view(parents).substr(i, id_bytes));
      if (!parent || seen[*parent]) continue;
      seen[*parent] = true;
      todo.push_back(*parent);
    }
  }
  return out;
}

bool PushWalk::Descends(std::string_view new_id, std::string_view old_id) {
  const auto from = pack_.objects->Find(new_id);
  if (!from || !parents_.contains(*from) || new_id == old_id) return false;
  const std::size_t id_bytes = pack_.objects->id_bytes();
  const auto reached = Reached(*from);
  if (!reached.ok()) return false;
  for (const uint32_t commit : *reached) {
    const std::string& parents = parents_.at(commit);
    for (std::size_t i = 0; i < parents.size(); i += id_bytes) {
      if (std::string_view(parents).substr(i, id_bytes) == old_id) return true;
    }
  }
  return false;
}

absl::StatusOr<PushWalk::Text> PushWalk::Find(std::string_view raw_id, PackType type, std::span<const StoredPack> known) {
  const auto read = [&](const StoredPack& pack) -> absl::StatusOr<Text> {
    const auto index = pack.objects->Find(raw_id);
    if (!index) return Text();
    if (pack.objects->type(*index) != type) return Bad("an object of another type than the one that names it says");
    return pack.objects->Read(*index, *pack.bytes);
  };
  ASSIGN_OR_RETURN(Text text, read(pack_));
  for (std::size_t i = 0; text == nullptr && i < known.size(); ++i) {
    ASSIGN_OR_RETURN(text, read(known[i]));
  }
  if (text == nullptr) missing_.emplace(raw_id);
  return text;
}

struct PushWalk::Comparison {
  std::span<const StoredPack> known;
  PathWatch& watch;
  std::string path;
};

absl::Status PushWalk::Compare(uint32_t commit, std::span<const StoredPack> known, PathWatch& watch) {
  const std::size_t id_bytes = pack_.objects->id_bytes();
  CommitLinks links;
  ASSIGN_OR_RETURN(const Text text, pack_.objects->Read(commit, *pack_.bytes));
  if (!ReadCommit(*text, id_bytes, &links)) return Bad("a commit that cannot be read");
  std::vector<std::string> before;
  for (std::size_t at = 0; at < links.parents.size(); at += id_bytes) {
    ASSIGN_OR_RETURN(const Text parent, Find(std::string_view(links.parents).substr(at, id_bytes), PackType::kCommit, known));
    CommitLinks of;
    if (parent == nullptr) continue;
    if (!ReadCommit(*parent, id_bytes, &of)) return Bad("a commit that cannot be read");
    before.push_back(std::move(of.tree));
  }
  if (before.size() * id_bytes != links.parents.size()) return absl::OkStatus();  // missing() says so
  if (before.empty()) before.emplace_back();
  Comparison run{known, watch, {}};
  compared_before_ = compared_;
  held_ = 0;
  return CompareTrees(run, links.tree, before, 0);
}

// `now` and each of `before` are ids of trees, or empty for none.
absl::Status PushWalk::CompareTrees(Comparison& run, std::string_view now, std::span<const std::string> before, std::size_t depth) {
  for (const std::string& one : before) {
    if (one == now) return absl::OkStatus();
  }
  if (depth > limits_.max_tree_depth) return TooLarge("levels of folders");
  // What stands at one name: only the sides that have something there, since a merge of many commits has many sides.
  struct Slots {
    std::optional<TreeEntry> now;
    absl::InlinedVector<std::pair<std::size_t, TreeEntry>, 1> before;
  };
  const std::size_t id_bytes = pack_.objects->id_bytes();
  std::vector<Text> held;  // what the views point into
  std::map<std::string_view, Slots> slots;
  const uint64_t held_above = held_;
  bool whole = true;
  const auto load = [&](std::string_view id, std::size_t side) -> absl::Status {
    if (id.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(Text text, Find(id, PackType::kTree, run.known));
    whole = whole && text != nullptr;
    if (text == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(CheckTree(*text, id_bytes, limits_.max_tree_entries));
    held.push_back(std::move(text));
    TreeReader reader(*held.back(), id_bytes);
    for (TreeEntry entry; reader.Next(&entry);) {
      if (++compared_ > limits_.max_compared || compared_ - compared_before_ > limits_.max_compared_at_once || ++held_ > limits_.max_held) {
        return TooLarge("entries to compare");
      }
      Slots& slot = slots[entry.name];
      if (side == before.size()) {
        slot.now = entry;
      } else {
        slot.before.emplace_back(side, entry);
      }
    }
    return absl::OkStatus();
  };
  for (std::size_t side = 0; side <= before.size(); ++side) {
    RETURN_IF_ERROR(load(side == before.size() ? now : std::string_view(before[side]), side));
  }
  for (auto slot = slots.begin(); whole && slot != slots.end(); ++slot) {
    // A folder is no file and a file is no folder: each half of an entry is compared with the same half of the others.
    const auto& [name, entry] = *slot;
    const TreeEntry* now_leaf = Leaf(entry.now);
    const TreeEntry* leaf = now_leaf;
    bool same = now_leaf == nullptr && entry.before.size() < before.size(), folder = IsFolder(entry.now);
    std::vector<std::string> below(before.size());
    for (const auto& [side, one] : entry.before) {
      const TreeEntry* before_leaf = one.kind == TreeEntry::Kind::kDirectory ? nullptr : &one;
      same = same || SameLeaf(now_leaf, before_leaf);
      if (leaf == nullptr) leaf = before_leaf;
      if (before_leaf != nullptr) continue;
      folder = true;
      below[side] = one.id;
    }
    const std::size_t length = run.path.size();
    if (length != 0) run.path.push_back('/');
    run.path.append(name);
    if (!same) run.watch.Changed(run.path, leaf->kind);
    if (folder && run.watch.Below(run.path)) RETURN_IF_ERROR(CompareTrees(run, FolderId(entry.now), below, depth + 1));
    run.path.resize(length);
  }
  held_ = held_above;
  return absl::OkStatus();
}

}  // namespace credbroker::wire
