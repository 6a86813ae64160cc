#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/pack_stream.h"

namespace credbroker::wire {

// Bytes that are kept elsewhere: a spooled pack.
class ByteStore {
 public:
  virtual ~ByteStore() = default;
  // False when fewer bytes are there.
  virtual bool ReadAt(uint64_t offset, char* out, std::size_t size) = 0;
};

// Going past a limit fails kBodyTooLarge.
struct PackStoreLimits {
  uint64_t max_objects = 500'000;  // beside the limits of a stream
  uint64_t max_work_bytes = uint64_t{16} << 30;             // inflated and rebuilt when objects are read
  std::size_t max_object_bytes = std::size_t{64} << 20;     // of an object that is held: a delta, its base, what is read
  std::size_t max_cached_bytes = std::size_t{32} << 20;     // of contents kept for the deltas that follow
  int max_delta_depth = 256;
};

// Every object of a pack by its id, without trusting the pack: ids are computed, deltas are resolved inside the pack. First
// Feed and Finish, as the pack goes by into a ByteStore; then Resolve until it is done; then the rest. Memory: about 60 bytes
// an object, max_cached_bytes, and a few of max_object_bytes while an object is rebuilt. Not thread-safe.
class PackStore final : public PackSink {
 public:
  PackStore(ObjectFormat format, const PackStoreLimits& limits);
  ~PackStore() override;

  // As PackStream.
  absl::Status Feed(std::string_view bytes) { return stream_.Feed(bytes); }
  absl::Status Finish() { return stream_.Finish(); }

  // Resolves some more of the deltas, a bounded piece of work; true when all is done. Fails kBadPack (a broken delta, a delta
  // chain that is too long, an object twice), kBodyTooLarge, kFileUnreadable. `bytes` holds the pack.
  absl::StatusOr<bool> Resolve(ByteStore& bytes);

  ObjectFormat format() const { return format_; }
  std::size_t id_bytes() const { return id_bytes_; }
  uint32_t count() const { return static_cast<uint32_t>(entries_.size()); }
  // Deltas whose base is not in the pack: objects without a name.
  uint32_t unresolved() const { return unresolved_; }
  uint64_t largest_blob() const;
  std::optional<uint32_t> Find(std::string_view raw_id) const;
  PackType type(uint32_t index) const { return entries_[index].type; }
  std::string_view id(uint32_t index) const { return std::string_view(ids_).substr(index * id_bytes_, id_bytes_); }
  // The content of a resolved object. Fails as Resolve.
  absl::StatusOr<std::shared_ptr<const std::string>> Read(uint32_t index, ByteStore& bytes);

  absl::Status Begin(const PackObjectHead& head, Want* want) override;
  absl::Status Content(std::string_view piece) override;
  absl::Status End() override;

 private:
  using Text = std::shared_ptr<const std::string>;
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  struct Entry {
    uint64_t offset = 0;
    uint64_t size = 0;  // of the object; of the delta until it is resolved
    uint32_t head_bytes = 0;
    uint32_t base = kNone;
    PackType type = PackType::kCommit;  // of the object; a delta's until it is resolved
    uint16_t depth = 0;
    uint32_t delta_bytes = 0;  // inflated, of a delta
  };
  struct Zlib;

  bool Resolved(uint32_t index) const { return entries_[index].type <= PackType::kTag; }
  std::optional<uint32_t> FindAt(uint64_t offset) const;
  absl::Status ResolveOne(uint32_t index, ByteStore& bytes, bool* resolved);
  absl::Status SortIn(std::vector<uint32_t> fresh);
  absl::StatusOr<Text> Inflate(const Entry& entry, uint64_t size, ByteStore& bytes);
  absl::Status Work(uint64_t size);
  void Keep(uint32_t index, Text text);
  Text Cached(uint32_t index);

  const ObjectFormat format_;
  const PackStoreLimits limits_;
  const std::size_t id_bytes_;
  std::vector<Entry> entries_;  // by offset
  std::string ids_;
  std::vector<uint32_t> by_id_;  // resolved, sorted by id
  std::unordered_map<uint32_t, std::string> base_ids_;  // of deltas by id whose base is not known yet
  std::vector<uint32_t> pending_, next_, resolved_;     // deltas of this round, those left for the next one, those done
  std::size_t at_ = 0;
  int rounds_ = 0;
  bool started_ = false;
  uint32_t unresolved_ = 0;
  uint64_t work_ = 0;

  std::unique_ptr<crypto::ObjectHash> hash_;  // of the object under way
  std::unique_ptr<Zlib> zlib_;
  std::list<std::pair<uint32_t, Text>> cache_;  // the most recently used first
  std::unordered_map<uint32_t, std::list<std::pair<uint32_t, Text>>::iterator> cached_;
  std::size_t cached_bytes_ = 0;
  PackStream stream_;
};

}  // namespace credbroker::wire
