#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "crypto/object_hash.h"

namespace credbroker::wire {

using crypto::ObjectFormat;

struct PackLimits {
  uint64_t max_objects = 2'000'000;                    // kBodyTooLarge, as all of these
  uint64_t max_inflated_bytes = uint64_t{8} << 30;     // of all objects
  uint64_t max_ratio = 1'500;                          // inflated bytes per packed byte, once past 64 MiB
  std::size_t max_commit_bytes = std::size_t{1} << 20;     // of one commit, or of a delta against one
  std::size_t max_kept_bytes = std::size_t{64} << 20;  // of all commits, which are held in memory
  int max_delta_depth = 64;                            // deeper commits prove nothing
};

// Reads a git pack (gitformat-pack, version 2 or 3) as it streams by, without trusting it, to learn the history that it
// carries: which commits it holds and who their parents are. Other objects are inflated, to find where they end, and dropped.
// Commit ids are computed, never believed. Not thread-safe.
//
//   pack   := "PACK" version u32be count u32be object* checksum[20|32]
//   object := type and size as a varint, [base offset varint | base id], zlib data
class PackCommits {
 public:
  PackCommits(ObjectFormat format, const PackLimits& limits);
  ~PackCommits();
  PackCommits(const PackCommits&) = delete;
  PackCommits& operator=(const PackCommits&) = delete;

  // Takes the next bytes, cut anywhere. Fails kBadGitRequest for what is no pack, kBodyTooLarge; no use afterwards.
  absl::Status Feed(std::string_view bytes);
  // At the end: the count and the checksum must be right, and nothing may follow. Fails kBadGitRequest.
  absl::Status Finish();

  // True when `old_id` is an ancestor of `new_id` and every step between lies in this pack: a proven fast-forward. False
  // proves nothing. Ids are lower-case hex. Only after Finish.
  bool Descends(std::string_view new_id, std::string_view old_id) const;
  std::size_t commit_count() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace credbroker::wire
