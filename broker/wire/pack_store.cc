#include "wire/pack_store.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "wire/git_delta.h"
#include "wire/git_object.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

constexpr uint64_t kSliceBytes = uint64_t{1} << 20;
constexpr std::size_t kSliceObjects = 512;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadPack, why); }

std::string_view TypeName(PackType type) {
  switch (type) {
    case PackType::kCommit: return "commit";
    case PackType::kTree: return "tree";
    case PackType::kBlob: return "blob";
    default: return "tag";
  }
}

}  // namespace

// One state for all objects: to set one up costs more than most objects do.
struct PackStore::Zlib {
  z_stream z{};
  bool open = false;
  ~Zlib() {
    if (open) inflateEnd(&z);
  }
  bool Start() {
    if (open) return inflateReset(&z) == Z_OK;
    open = inflateInit(&z) == Z_OK;
    return open;
  }
};

PackStore::PackStore(ObjectFormat format, const PackStoreLimits& limits)
    : format_(format),
      limits_(limits),
      id_bytes_(format == ObjectFormat::kSha1 ? 20 : 32),
      zlib_(std::make_unique<Zlib>()),
      stream_(format, {.max_objects = limits.max_objects}, *this) {}
PackStore::~PackStore() = default;

absl::Status PackStore::Begin(const PackObjectHead& head, Want* want) {
  Entry entry;
  entry.offset = head.offset;
  entry.head_bytes = static_cast<uint32_t>(head.data - head.offset);
  entry.type = head.type;
  entry.size = head.size;
  *want = Want::kNothing;
  const bool delta = head.type == PackType::kOffsetDelta || head.type == PackType::kIdDelta;
  if (delta) {
    if (head.size > limits_.max_object_bytes) return base::Error(ErrorCode::kBodyTooLarge, "a delta");
    entry.delta_bytes = static_cast<uint32_t>(head.size);
  }
  if (head.type == PackType::kIdDelta) base_ids_.emplace(count(), head.base_id);
  if (head.type == PackType::kOffsetDelta) {
    const auto base = FindAt(head.base_offset);
    if (!base) return Bad("no object where a delta's base should begin");
    entry.base = *base;
  }
  entries_.push_back(entry);
  ids_.append(id_bytes_, '\0');
  if (delta) {
    pending_.push_back(count() - 1);
    return absl::OkStatus();
  }
  hash_ = std::make_unique<crypto::ObjectHash>(format_);
  hash_->Add(base::StrCat(TypeName(head.type), " ", head.size, '\0'));
  *want = Want::kContent;
  return absl::OkStatus();
}

absl::Status PackStore::Content(std::string_view piece) {
  hash_->Add(piece);
  return absl::OkStatus();
}

absl::Status PackStore::End() {
  if (hash_ == nullptr) return absl::OkStatus();
  ids_.replace(ids_.size() - id_bytes_, id_bytes_, hash_->Take());
  hash_ = nullptr;
  return absl::OkStatus();
}

std::optional<uint32_t> PackStore::FindAt(uint64_t offset) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), offset,
                                      [](const Entry& entry, uint64_t wanted) { return entry.offset < wanted; });
  if (found == entries_.end() || found->offset != offset) return std::nullopt;
  return static_cast<uint32_t>(found - entries_.begin());
}

std::optional<uint32_t> PackStore::Find(std::string_view raw_id) const {
  const auto found = std::lower_bound(by_id_.begin(), by_id_.end(), raw_id,
                                      [this](uint32_t index, std::string_view wanted) { return id(index) < wanted; });
  if (found == by_id_.end() || id(*found) != raw_id) return std::nullopt;
  return *found;
}

uint64_t PackStore::largest_blob() const {
  uint64_t largest = 0;
  for (const Entry& entry : entries_) {
    if (entry.type == PackType::kBlob) largest = std::max(largest, entry.size);
  }
  return largest;
}

// Takes newly resolved objects into by_id_. Merged, not sorted anew: a pack can ask for many rounds.
absl::Status PackStore::SortIn(std::vector<uint32_t> fresh) {
  const auto before = [this](uint32_t a, uint32_t b) { return id(a) < id(b); };
  std::sort(fresh.begin(), fresh.end(), before);
  const auto middle = by_id_.insert(by_id_.end(), fresh.begin(), fresh.end());
  std::inplace_merge(by_id_.begin(), middle, by_id_.end(), before);
  const auto twice = std::adjacent_find(by_id_.begin(), by_id_.end(), [this](uint32_t a, uint32_t b) { return id(a) == id(b); });
  return twice == by_id_.end() ? absl::OkStatus() : Bad("an object twice");
}

absl::StatusOr<bool> PackStore::Resolve(ByteStore& bytes) {
  if (!std::exchange(started_, true)) {
    std::vector<uint32_t> whole;
    for (uint32_t i = 0; i < count(); ++i) {
      if (Resolved(i)) whole.push_back(i);
    }
    RETURN_IF_ERROR(SortIn(std::move(whole)));
  }
  const uint64_t before = work_;
  for (std::size_t done = 0; at_ < pending_.size(); ++at_, ++done) {
    if (done == kSliceObjects || work_ - before > kSliceBytes) return false;
    bool resolved = false;
    RETURN_IF_ERROR(ResolveOne(pending_[at_], bytes, &resolved));
    (resolved ? resolved_ : next_).push_back(pending_[at_]);
  }
  if (pending_.empty()) return true;
  const bool moved = next_.size() < pending_.size();
  pending_ = std::exchange(next_, {});
  at_ = 0;
  RETURN_IF_ERROR(SortIn(std::exchange(resolved_, {})));
  // Each round resolves one more level of a chain of deltas by id that is written backwards.
  if (moved && !pending_.empty() && ++rounds_ <= limits_.max_delta_depth) return false;
  unresolved_ = static_cast<uint32_t>(pending_.size());
  pending_.clear();
  return true;
}

absl::Status PackStore::ResolveOne(uint32_t index, ByteStore& bytes, bool* resolved) {
  Entry& entry = entries_[index];
  if (entry.type == PackType::kIdDelta && entry.base == kNone) {
    const auto base = Find(base_ids_[index]);
    if (!base) return absl::OkStatus();
    entry.base = *base;
    base_ids_.erase(index);
  }
  if (!Resolved(entry.base)) return absl::OkStatus();
  const Entry& base = entries_[entry.base];
  if (base.depth >= limits_.max_delta_depth) return Bad("a chain of deltas that is too long");
  entry.depth = static_cast<uint16_t>(base.depth + 1);
  ASSIGN_OR_RETURN(const Text text, Read(index, bytes));
  entry.type = base.type;
  entry.size = text->size();
  ids_.replace(index * id_bytes_, id_bytes_, ObjectId(format_, TypeName(entry.type), *text));
  *resolved = true;
  return absl::OkStatus();
}

absl::StatusOr<PackStore::Text> PackStore::Read(uint32_t index, ByteStore& bytes) {
  std::vector<uint32_t> deltas;
  uint32_t at = index;
  Text text = Cached(at);
  while (text == nullptr && entries_[at].base != kNone) {
    deltas.push_back(at);
    at = entries_[at].base;
    text = Cached(at);
  }
  if (text == nullptr) {
    ASSIGN_OR_RETURN(text, Inflate(entries_[at], entries_[at].size, bytes));
    Keep(at, text);
  }
  for (; !deltas.empty(); deltas.pop_back()) {
    const Entry& entry = entries_[deltas.back()];
    ASSIGN_OR_RETURN(const Text delta, Inflate(entry, entry.delta_bytes, bytes));
    auto result = std::make_shared<std::string>();
    if (!ApplyGitDelta(*text, *delta, limits_.max_object_bytes, result.get())) return Bad("a delta that does not fit its base");
    RETURN_IF_ERROR(Work(result->size()));
    text = std::move(result);
    Keep(deltas.back(), text);
  }
  return text;
}

absl::Status PackStore::Work(uint64_t size) {
  work_ += size;
  return work_ > limits_.max_work_bytes ? base::Error(ErrorCode::kBodyTooLarge, "work on deltas") : absl::OkStatus();
}

absl::StatusOr<PackStore::Text> PackStore::Inflate(const Entry& entry, uint64_t size, ByteStore& bytes) {
  if (size > limits_.max_object_bytes) return base::Error(ErrorCode::kBodyTooLarge, "an object that must be held");
  RETURN_IF_ERROR(Work(size + 64));
  if (!zlib_->Start()) return base::Error(ErrorCode::kOverloaded, "no memory to read a pack");
  auto out = std::make_shared<std::string>(size, '\0');
  z_stream& z = zlib_->z;
  z.next_out = reinterpret_cast<Bytef*>(out->data());
  z.avail_out = static_cast<uInt>(size);
  // The stream was read once: what follows the data is more of the pack.
  const std::size_t index = static_cast<std::size_t>(&entry - entries_.data());
  uint64_t at = entry.offset + entry.head_bytes;
  const uint64_t end = index + 1 < entries_.size() ? entries_[index + 1].offset : UINT64_MAX;
  std::array<char, 16384> in;
  int result = Z_OK;
  while (result == Z_OK || result == Z_BUF_ERROR) {
    const std::size_t most = static_cast<std::size_t>(std::min<uint64_t>(std::min<uint64_t>(in.size(), size + 64), end - at));
    std::size_t want = most;
    // The last object ends somewhere before the checksum: take what is there.
    while (want > 0 && !bytes.ReadAt(at, in.data(), want)) want = end == UINT64_MAX ? want / 2 : 0;
    if (want == 0) return base::Error(ErrorCode::kFileUnreadable, "a spooled pack");
    z.next_in = reinterpret_cast<Bytef*>(in.data());
    z.avail_in = static_cast<uInt>(want);
    result = inflate(&z, Z_NO_FLUSH);
    const std::size_t used = want - z.avail_in;
    at += used;
    if (used == 0 && result != Z_STREAM_END) break;
  }
  if (result != Z_STREAM_END || z.avail_out != 0) return Bad("object data");
  return out;
}

void PackStore::Keep(uint32_t index, Text text) {
  if (text->size() > limits_.max_cached_bytes || cached_.contains(index)) return;
  cached_bytes_ += text->size();
  cache_.emplace_front(index, std::move(text));
  cached_[index] = cache_.begin();
  while (cached_bytes_ > limits_.max_cached_bytes) {
    cached_bytes_ -= cache_.back().second->size();
    cached_.erase(cache_.back().first);
    cache_.pop_back();
  }
}

PackStore::Text PackStore::Cached(uint32_t index) {
  const auto found = cached_.find(index);
  if (found == cached_.end()) return nullptr;
  cache_.splice(cache_.begin(), cache_, found->second);
  return found->second->second;
}

}  // namespace credbroker::wire
