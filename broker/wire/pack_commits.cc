#include "wire/pack_commits.h"

#include <zlib.h>

#include <algorithm>
#include <array>
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

namespace credbroker::wire {
namespace {

using base::ErrorCode;

// Small enough that a bomb is noticed before much of it went off.
constexpr std::size_t kMaxOffered = 64 * 1024;
constexpr uint64_t kRatioGrace = uint64_t{64} << 20;
// What one commit costs beside its text and its parents: its place, its entry by id and what the allocator adds.
constexpr std::size_t kCommitOverhead = 288;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadGitRequest, why); }
absl::Status TooLarge(std::string_view why) { return base::Error(ErrorCode::kBodyTooLarge, why); }

enum ObjectType { kCommit = 1, kTree = 2, kBlob = 3, kTag = 4, kOffsetDelta = 6, kIdDelta = 7 };

bool IdFromHex(std::string_view hex, std::string* raw) {
  return base::HexDecode(hex, raw) && base::HexEncode(*raw) == hex;
}

// Takes `word` id LF off `commit`. False, and nothing taken, when that is not what it starts with.
bool TakeIdLine(std::string_view* commit, std::string_view word, std::size_t id_digits, std::string* raw) {
  const std::size_t end = word.size() + id_digits;
  if (commit->size() <= end || !commit->starts_with(word) || (*commit)[end] != '\n') return false;
  if (!IdFromHex(commit->substr(word.size(), id_digits), raw)) return false;
  commit->remove_prefix(end + 1);
  return true;
}

// The raw ids, one after the other. None when the lines are not exactly those that git itself takes: it would refuse
// such a commit, and another reader might find other parents in it.
//
//   commit := "tree " id LF ("parent " id LF)* "author " ...
std::string ParentsOf(std::string_view commit, std::size_t id_digits) {
  std::string parents, id;
  if (!TakeIdLine(&commit, "tree ", id_digits, &id)) return {};
  while (TakeIdLine(&commit, "parent ", id_digits, &id)) parents.append(id);
  if (!commit.starts_with("author ")) return {};
  parents.shrink_to_fit();
  return parents;
}

}  // namespace

class PackCommits::Impl {
 public:
  Impl(ObjectFormat format, const PackLimits& limits)
      : limits_(limits),
        format_(format),
        id_bytes_(format == ObjectFormat::kSha1 ? 20 : 32),
        checksum_(format),
        steps_left_(limits.max_steps) {}
  ~Impl() {
    if (zlib_open_) inflateEnd(&zlib_);
  }

  absl::Status Feed(std::string_view bytes) {
    while (failure_.ok() && !bytes.empty()) failure_ = Step(&bytes);
    return failure_;
  }

  absl::Status Finish() {
    if (failure_.ok() && !finished_) failure_ = CheckEnd();
    finished_ = true;
    return failure_;
  }

  bool Descends(std::string_view new_id, std::string_view old_id) {
    std::string from, to;
    if (!finished_ || !failure_.ok() || !IdFromHex(new_id, &from) || !IdFromHex(old_id, &to)) return false;
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

 private:
  enum class State { kHeader, kObject, kBase, kData, kTrailer };

  struct Commit {
    uint64_t offset = 0;
    std::string content;
    std::string parents;  // raw ids
    int depth = 0;        // of deltas
  };

  absl::Status Step(std::string_view* bytes) {
    switch (state_) {
      case State::kHeader:
        return ReadHeader(bytes);
      case State::kObject:
        return ReadObjectHead(bytes);
      case State::kBase:
        return type_ == kIdDelta ? ReadBaseId(bytes) : ReadBaseOffset(bytes);
      case State::kData:
        return ReadData(bytes);
      case State::kTrailer:
        break;
    }
    if (bytes->size() > id_bytes_ - held_.size()) return Bad("bytes after the pack");
    held_.append(*bytes);
    *bytes = {};
    return absl::OkStatus();
  }

  absl::Status CheckEnd() {
    if (state_ != State::kTrailer || held_.size() != id_bytes_) return Bad("the pack is cut");
    return checksum_.Take() == held_ ? absl::OkStatus() : Bad("the pack's checksum is wrong");
  }

  void Consume(std::string_view* bytes, std::size_t size) {
    checksum_.Add(bytes->substr(0, size));
    bytes->remove_prefix(size);
    offset_ += size;
  }

  // Moves up to what is missing to `want` bytes into held_. True when they are there.
  bool Hold(std::string_view* bytes, std::size_t want) {
    const std::size_t take = std::min(want - held_.size(), bytes->size());
    held_.append(bytes->substr(0, take));
    Consume(bytes, take);
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
    StartObject();
    return absl::OkStatus();
  }

  void StartObject() {
    held_.clear();
    state_ = left_ == 0 ? State::kTrailer : State::kObject;
    start_ = offset_;
    base_ = nullptr;
  }

  // head := more:1 type:3 size:4 (more:1 size:7)*      least significant first
  absl::Status ReadObjectHead(std::string_view* bytes) {
    while (Hold(bytes, held_.size() + 1)) {
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
      if (type_ != kOffsetDelta && type_ != kIdDelta) return StartData();
      state_ = State::kBase;
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status ReadBaseId(std::string_view* bytes) {
    if (!Hold(bytes, id_bytes_)) return absl::OkStatus();
    base_ = Find(held_);
    return StartData();
  }

  // base offset := (more:1 distance:7)+      most significant first, one added for each byte but the last
  absl::Status ReadBaseOffset(std::string_view* bytes) {
    while (Hold(bytes, held_.size() + 1)) {
      const auto byte = static_cast<uint8_t>(held_.back());
      if (held_.size() > 9) return Bad("base offset");
      base_distance_ = held_.size() == 1 ? byte & 0x7F : ((base_distance_ + 1) << 7 | (byte & 0x7F));
      if ((byte & 0x80) != 0) continue;
      if (base_distance_ == 0 || base_distance_ >= start_) return Bad("base offset");
      base_ = FindAt(start_ - base_distance_);
      return StartData();
    }
    return absl::OkStatus();
  }

  absl::Status StartData() {
    held_.clear();
    state_ = State::kData;
    got_ = 0;
    content_.clear();
    if (type_ == kCommit && size_ > limits_.max_commit_bytes) return TooLarge("a commit");
    keep_ = type_ == kCommit || (base_ != nullptr && base_->depth < limits_.max_delta_depth);
    if (size_ > limits_.max_commit_bytes) keep_ = false;
    // One state for all objects: to set one up costs more than most objects do.
    if (zlib_open_) return inflateReset(&zlib_) == Z_OK ? absl::OkStatus() : base::Error(ErrorCode::kInternal, "zlib");
    zlib_open_ = inflateInit(&zlib_) == Z_OK;
    return zlib_open_ ? absl::OkStatus() : base::Error(ErrorCode::kOverloaded, "no memory to read a pack");
  }

  absl::Status ReadData(std::string_view* bytes) {
    std::array<char, 16384> out;
    const std::size_t offered = std::min(bytes->size(), kMaxOffered);
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes->data()));
    zlib_.avail_in = static_cast<uInt>(offered);
    int result = Z_OK;
    do {
      zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
      zlib_.avail_out = out.size();
      result = inflate(&zlib_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return Bad("object data");
      RETURN_IF_ERROR(TakeInflated({out.data(), out.size() - zlib_.avail_out}));
    } while (result == Z_OK && zlib_.avail_out == 0);
    const std::size_t used = offered - zlib_.avail_in;
    Consume(bytes, used);
    if (result == Z_STREAM_END) return EndObject();
    return used == 0 ? Bad("object data") : absl::OkStatus();
  }

  absl::Status TakeInflated(std::string_view piece) {
    got_ += piece.size();
    if (got_ > size_) return Bad("an object is longer than it says");
    if (keep_) content_.append(piece);
    return CountInflated(piece.size());
  }

  absl::Status CountInflated(std::size_t size) {
    inflated_ += size;
    if (inflated_ > limits_.max_inflated_bytes) return TooLarge("inflated");
    const uint64_t past_grace = inflated_ > kRatioGrace ? inflated_ - kRatioGrace : 0;
    return past_grace / (offset_ + kMaxOffered) > limits_.max_ratio ? TooLarge("ratio") : absl::OkStatus();
  }

  absl::Status EndObject() {
    if (got_ != size_) return Bad("an object is shorter than it says");
    if (keep_) RETURN_IF_ERROR(type_ == kCommit ? AddCommit(std::move(content_), 0) : ApplyDelta());
    content_ = {};
    --left_;
    StartObject();
    return absl::OkStatus();
  }

  absl::Status ApplyDelta() {
    std::string content;
    const bool applied = ApplyGitDelta(base_->content, content_, limits_.max_commit_bytes, &content);
    // A few bytes of delta can ask for a megabyte, so what it gave counts, even when it broke off.
    RETURN_IF_ERROR(CountInflated(content.size()));
    return applied ? AddCommit(std::move(content), base_->depth + 1) : absl::OkStatus();
  }

  absl::Status AddCommit(std::string content, int depth) {
    std::string parents = ParentsOf(content, id_bytes_ * 2);
    content.shrink_to_fit();
    kept_bytes_ += content.size() + parents.size() + kCommitOverhead;
    if (kept_bytes_ > limits_.max_kept_bytes) return TooLarge("commits in all");
    crypto::ObjectHash id(format_);
    id.Add(base::StrCat("commit ", content.size(), '\0'));
    id.Add(content);
    commits_.push_back({start_, std::move(content), std::move(parents), depth});
    by_id_.emplace(id.Take(), &commits_.back());
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
  crypto::ObjectHash checksum_;
  State state_ = State::kHeader;
  absl::Status failure_;
  bool finished_ = false;
  std::string held_;     // of a head that is not whole yet
  uint64_t offset_ = 0;  // in the pack
  uint64_t inflated_ = 0;
  std::size_t kept_bytes_ = 0;
  uint64_t left_ = 0;  // objects
  uint64_t steps_left_;

  // The object under way.
  uint64_t start_ = 0;
  int type_ = 0;
  uint64_t size_ = 0, got_ = 0;
  uint64_t base_distance_ = 0;
  const Commit* base_ = nullptr;  // of a delta, when it is a commit
  bool keep_ = false;
  std::string content_;
  z_stream zlib_{};
  bool zlib_open_ = false;

  std::deque<Commit> commits_;  // by offset; addresses stay
  // A tree, because a sender can choose ids that would all fall into one bucket of a hash table.
  std::map<std::string, const Commit*, std::less<>> by_id_;
};

PackCommits::PackCommits(ObjectFormat format, const PackLimits& limits)
    : impl_(std::make_unique<Impl>(format, limits)) {}
PackCommits::~PackCommits() = default;
absl::Status PackCommits::Feed(std::string_view bytes) { return impl_->Feed(bytes); }
absl::Status PackCommits::Finish() { return impl_->Finish(); }
bool PackCommits::Descends(std::string_view new_id, std::string_view old_id) const {
  return impl_->Descends(new_id, old_id);
}
std::size_t PackCommits::commit_count() const { return impl_->commit_count(); }

}  // namespace credbroker::wire
