#include "wire/pack_commits.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "wire/git_delta.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadGitRequest, why); }
absl::Status TooLarge(std::string_view why) { return base::Error(ErrorCode::kBodyTooLarge, why); }

enum ObjectType { kCommit = 1, kTree = 2, kBlob = 3, kTag = 4, kOffsetDelta = 6, kIdDelta = 7 };

// commit := "tree " id LF ("parent " id LF)* ...
std::vector<std::string> ParentsOf(std::string_view commit, std::size_t id_digits) {
  std::vector<std::string> parents;
  const auto line_end = [&] { return commit.find('\n'); };
  if (!commit.starts_with("tree ") || line_end() == std::string_view::npos) return parents;
  commit.remove_prefix(line_end() + 1);
  while (commit.starts_with("parent ") && line_end() == 7 + id_digits) {
    parents.emplace_back(commit.substr(7, id_digits));
    commit.remove_prefix(line_end() + 1);
  }
  return parents;
}

}  // namespace

class PackCommits::Impl {
 public:
  Impl(ObjectFormat format, const PackLimits& limits)
      : limits_(limits), format_(format), id_bytes_(format == ObjectFormat::kSha1 ? 20 : 32), checksum_(format) {}
  ~Impl() {
    if (inflating_) inflateEnd(&zlib_);
  }

  absl::Status Feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t before = bytes.size();
      RETURN_IF_ERROR(Step(&bytes));
      packed_ += before - bytes.size();
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (state_ != State::kTrailer || held_.size() != id_bytes_) return Bad("the pack is cut");
    if (checksum_.Take() != held_) return Bad("the pack's checksum is wrong");
    return ResolveDeltas();
  }

  bool Descends(std::string_view new_id, std::string_view old_id) const {
    std::deque<std::string> todo = {std::string(new_id)};
    std::unordered_set<std::string> seen = {todo.front()};
    while (!todo.empty()) {
      const auto found = parents_.find(todo.front());
      todo.pop_front();
      if (found == parents_.end()) continue;
      for (const std::string& parent : found->second) {
        if (parent == old_id) return true;
        if (seen.insert(parent).second) todo.push_back(parent);
      }
    }
    return false;
  }

  std::size_t commit_count() const { return parents_.size(); }

 private:
  enum class State { kHeader, kObject, kBase, kData, kTrailer };

  // A delta that may be of a commit: known once its base is.
  struct Delta {
    uint64_t offset = 0;
    uint64_t base_offset = 0;  // kOffsetDelta
    std::string base_id;       // kIdDelta, raw
    std::string content;
  };

  absl::Status Step(std::string_view* bytes) {
    switch (state_) {
      case State::kHeader: return ReadHeader(bytes);
      case State::kObject: return ReadObjectHead(bytes);
      case State::kBase: return ReadBase(bytes);
      case State::kData: return ReadData(bytes);
      case State::kTrailer: break;
    }
    if (held_.size() + bytes->size() > id_bytes_) return Bad("bytes after the pack");
    held_.append(*bytes);
    *bytes = {};
    return absl::OkStatus();
  }

  // Moves up to what is missing to `want` bytes into held_. True when they are there.
  bool Hold(std::string_view* bytes, std::size_t want) {
    const std::size_t take = std::min(want - held_.size(), bytes->size());
    held_.append(bytes->substr(0, take));
    checksum_.Add(bytes->substr(0, take));
    bytes->remove_prefix(take);
    offset_ += take;
    return held_.size() == want;
  }

  absl::Status ReadHeader(std::string_view* bytes) {
    if (!Hold(bytes, 12)) return absl::OkStatus();
    const auto word = [&](std::size_t at) {
      uint32_t value = 0;
      for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(held_[at + i]);
      return value;
    };
    if (!held_.starts_with("PACK") || (word(4) != 2 && word(4) != 3)) return Bad("not a pack of version 2 or 3");
    left_ = word(8);
    if (left_ > limits_.max_objects) return TooLarge("too many objects");
    return NextObject();
  }

  absl::Status NextObject() {
    held_.clear();
    state_ = left_ == 0 ? State::kTrailer : State::kObject;
    start_ = offset_;
    return absl::OkStatus();
  }

  absl::Status ReadObjectHead(std::string_view* bytes) {
    while (!bytes->empty()) {
      if (!Hold(bytes, held_.size() + 1)) break;
      const auto byte = static_cast<uint8_t>(held_.back());
      if (held_.size() == 1) {
        type_ = byte >> 4 & 7;
        size_ = byte & 15;
      } else {
        const std::size_t shift = 4 + 7 * (held_.size() - 2);
        if (shift > 53) return Bad("object size");
        size_ |= static_cast<uint64_t>(byte & 0x7F) << shift;
      }
      if ((byte & 0x80) != 0) continue;
      held_.clear();
      if (type_ == 0 || type_ == 5) return Bad("object type");
      if (type_ == kOffsetDelta || type_ == kIdDelta) {
        delta_ = Delta{start_, 0, {}, {}};
        state_ = State::kBase;
        return absl::OkStatus();
      }
      return StartData();
    }
    return absl::OkStatus();
  }

  absl::Status ReadBase(std::string_view* bytes) {
    if (type_ == kIdDelta) {
      if (!Hold(bytes, id_bytes_)) return absl::OkStatus();
      delta_.base_id = std::exchange(held_, {});
      return StartData();
    }
    while (!bytes->empty()) {
      if (!Hold(bytes, held_.size() + 1)) break;
      const auto byte = static_cast<uint8_t>(held_.back());
      if (held_.size() > 9) return Bad("base offset");
      base_distance_ = held_.size() == 1 ? byte & 0x7F : ((base_distance_ + 1) << 7 | (byte & 0x7F));
      if ((byte & 0x80) != 0) continue;
      if (base_distance_ == 0 || base_distance_ > start_) return Bad("base offset");
      delta_.base_offset = start_ - base_distance_;
      held_.clear();
      return StartData();
    }
    return absl::OkStatus();
  }

  absl::Status StartData() {
    zlib_ = {};
    if (inflateInit(&zlib_) != Z_OK) return base::Error(ErrorCode::kInternal, "zlib");
    inflating_ = true;
    got_ = 0;
    content_.clear();
    keep_ = type_ == kCommit || type_ == kOffsetDelta || type_ == kIdDelta;
    if (type_ == kCommit && size_ > limits_.max_commit_bytes) return TooLarge("a commit");
    // A delta this long is of no commit that we would keep.
    if (size_ > limits_.max_commit_bytes) keep_ = false;
    state_ = State::kData;
    return absl::OkStatus();
  }

  absl::Status ReadData(std::string_view* bytes) {
    std::array<char, 16384> out;
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes->data()));
    const auto offered = static_cast<uInt>(std::min<std::size_t>(bytes->size(), 1 << 20));
    zlib_.avail_in = offered;
    int result = Z_OK;
    do {
      zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
      zlib_.avail_out = out.size();
      result = inflate(&zlib_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return Bad("object data");
      RETURN_IF_ERROR(Inflated({out.data(), out.size() - zlib_.avail_out}));
    } while (result == Z_OK && zlib_.avail_out == 0);
    const std::size_t used = offered - zlib_.avail_in;
    checksum_.Add(bytes->substr(0, used));
    bytes->remove_prefix(used);
    offset_ += used;
    if (result == Z_STREAM_END) return EndObject();
    if (used == 0) return Bad("object data");
    return absl::OkStatus();
  }

  absl::Status Inflated(std::string_view piece) {
    got_ += piece.size();
    inflated_ += piece.size();
    if (got_ > size_) return Bad("an object is longer than it says");
    if (inflated_ > limits_.max_inflated_bytes) return TooLarge("inflated");
    if (inflated_ > (uint64_t{64} << 20) && inflated_ / limits_.max_ratio > packed_ + (1 << 20)) return TooLarge("ratio");
    if (!keep_) return absl::OkStatus();
    kept_bytes_ += piece.size();
    content_.append(piece);
    if (kept_bytes_ <= limits_.max_kept_bytes) return absl::OkStatus();
    if (type_ == kCommit) return TooLarge("commits in all");
    keep_ = false;  // a delta that is dropped proves nothing
    kept_bytes_ -= content_.size();
    content_ = {};
    return absl::OkStatus();
  }

  absl::Status EndObject() {
    inflateEnd(&zlib_);
    inflating_ = false;
    if (got_ != size_) return Bad("an object is shorter than it says");
    if (type_ == kCommit) {
      AddCommit(start_, std::move(content_));
    } else if (keep_) {
      EndDelta();
    }
    content_ = {};
    --left_;
    return NextObject();
  }

  // Bases stand before offset deltas, so those of commits are known here. Others are dropped; deltas by id wait for the end.
  void EndDelta() {
    delta_.content = std::move(content_);
    const std::size_t size = delta_.content.size();
    if (type_ == kIdDelta) {
      waiting_.push_back(std::move(delta_));
    } else if (by_offset_.contains(delta_.base_offset)) {
      Apply(delta_, delta_.base_offset);
    } else if (waiting_offsets_.contains(delta_.base_offset)) {
      waiting_.push_back(std::move(delta_));
    } else {
      kept_bytes_ -= size;
      return;
    }
    if (!waiting_.empty() && waiting_.back().offset == start_) waiting_offsets_.insert(start_);
  }

  void AddCommit(uint64_t offset, std::string content) {
    crypto::ObjectHash id(format_);
    id.Add(base::StrCat("commit ", content.size(), std::string_view("\0", 1)));
    id.Add(content);
    const std::string raw = id.Take();
    parents_.insert_or_assign(base::HexEncode(raw), ParentsOf(content, id_bytes_ * 2));
    by_id_.insert_or_assign(raw, offset);
    by_offset_.insert_or_assign(offset, std::move(content));
  }

  bool Apply(const Delta& delta, uint64_t base_offset) {
    const auto base = by_offset_.find(base_offset);
    const int depth = depth_[base_offset] + 1;
    if (base == by_offset_.end() || depth > limits_.max_delta_depth) return false;
    std::string content;
    if (!ApplyGitDelta(base->second, delta.content, limits_.max_commit_bytes, &content)) return false;
    kept_bytes_ += content.size();
    if (kept_bytes_ > limits_.max_kept_bytes) return false;
    depth_[delta.offset] = depth;
    AddCommit(delta.offset, std::move(content));
    return true;
  }

  // Deltas by id may name a base that comes later. Each round resolves some or is the last.
  absl::Status ResolveDeltas() {
    for (bool moved = true; moved && !waiting_.empty();) {
      moved = false;
      std::vector<Delta> left;
      for (Delta& delta : waiting_) {
        const auto by_id = by_id_.find(delta.base_id);
        const bool known = !delta.base_id.empty() ? by_id != by_id_.end() : by_offset_.contains(delta.base_offset);
        if (!known) {
          left.push_back(std::move(delta));
          continue;
        }
        moved = Apply(delta, delta.base_id.empty() ? delta.base_offset : by_id->second) || moved;
      }
      waiting_ = std::move(left);
    }
    return absl::OkStatus();
  }

  const PackLimits limits_;
  const ObjectFormat format_;
  const std::size_t id_bytes_;
  crypto::ObjectHash checksum_;
  State state_ = State::kHeader;
  std::string held_;       // of a head that is not whole yet
  uint64_t offset_ = 0;    // in the pack
  uint64_t packed_ = 0;
  uint64_t inflated_ = 0;
  std::size_t kept_bytes_ = 0;
  uint64_t left_ = 0;      // objects

  // The object under way.
  uint64_t start_ = 0;
  int type_ = 0;
  uint64_t size_ = 0, got_ = 0;
  uint64_t base_distance_ = 0;
  bool keep_ = false;
  std::string content_;
  Delta delta_;
  z_stream zlib_{};
  bool inflating_ = false;

  std::unordered_map<uint64_t, std::string> by_offset_;
  std::unordered_map<std::string, uint64_t> by_id_;
  std::unordered_map<uint64_t, int> depth_;
  std::unordered_map<std::string, std::vector<std::string>> parents_;
  std::vector<Delta> waiting_;
  std::unordered_set<uint64_t> waiting_offsets_;
};

PackCommits::PackCommits(ObjectFormat format, const PackLimits& limits) : impl_(std::make_unique<Impl>(format, limits)) {}
PackCommits::~PackCommits() = default;
absl::Status PackCommits::Feed(std::string_view bytes) { return impl_->Feed(bytes); }
absl::Status PackCommits::Finish() { return impl_->Finish(); }
bool PackCommits::Descends(std::string_view new_id, std::string_view old_id) const { return impl_->Descends(new_id, old_id); }
std::size_t PackCommits::commit_count() const { return impl_->commit_count(); }

}  // namespace credbroker::wire
