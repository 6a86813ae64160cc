#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "crypto/object_hash.h"

namespace credbroker::wire {

using crypto::ObjectFormat;

enum class PackType { kCommit = 1, kTree = 2, kBlob = 3, kTag = 4, kOffsetDelta = 6, kIdDelta = 7 };

// What stands in front of an object's data.
struct PackObjectHead {
  uint64_t offset = 0;  // of the object in the pack
  PackType type = PackType::kCommit;
  uint64_t size = 0;         // inflated; of the delta itself for deltas
  uint64_t data = 0;         // where the zlib data begins
  uint64_t base_offset = 0;  // kOffsetDelta: an earlier object's
  std::string_view base_id;  // kIdDelta: raw; good until Begin returns
};

// Takes the objects of a pack as they come. An error that it returns is the stream's.
class PackSink {
 public:
  enum class Want { kContent, kNothing };
  virtual ~PackSink() = default;
  virtual absl::Status Begin(const PackObjectHead& head, Want* want) = 0;
  // The next inflated bytes of the object, when it wants them.
  virtual absl::Status Content(std::string_view piece) = 0;
  virtual absl::Status End() = 0;
};

struct PackStreamLimits {
  uint64_t max_objects = 2'000'000;
  uint64_t max_inflated_bytes = uint64_t{8} << 30;
  uint64_t max_ratio = 200;  // inflated bytes per packed byte, past the first 64 MiB
};

// Reads a git pack (gitformat-pack, version 2 or 3) as it streams by, without trusting it: counts, sizes and the checksum
// must be right. Memory: a zlib window. Not thread-safe.
//
//   pack   := "PACK" version u32be count u32be object* checksum[20|32]
//   object := type and size as a varint, [base offset varint | base id], zlib data
class PackStream {
 public:
  // `sink` outlives the stream.
  PackStream(ObjectFormat format, const PackStreamLimits& limits, PackSink& sink);
  ~PackStream();
  PackStream(const PackStream&) = delete;
  PackStream& operator=(const PackStream&) = delete;

  // Takes the next bytes, cut anywhere. Fails kBadGitRequest for what is no pack, kBodyTooLarge above a limit,
  // kOverloaded without memory for zlib, and as the sink does. A failure is final.
  absl::Status Feed(std::string_view bytes);
  // At the end: the count and the checksum must be right, and nothing may follow. Fails kBadGitRequest.
  absl::Status Finish();
  bool finished() const;  // Finish was called, and nothing has failed

  // Counts bytes that the sink inflated or rebuilt beside the stream against the same limits.
  absl::Status CountInflated(uint64_t size);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace credbroker::wire
