#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "wire/pack_stream.h"

namespace credbroker::wire {

// Going past a limit fails kBodyTooLarge unless the line says otherwise.
struct PackLimits {
  uint64_t max_objects = 2'000'000;
  uint64_t max_inflated_bytes = uint64_t{8} << 30;      // of all objects, and of what deltas of commits give
  uint64_t max_ratio = 200;                             // inflated bytes per packed byte, past the first 64 MiB
  std::size_t max_commit_bytes = std::size_t{1} << 20;  // of one commit; a longer delta or its result is dropped
  std::size_t max_kept_bytes = std::size_t{64} << 20;   // of memory for all commits, the bookkeeping included
  int max_delta_depth = 64;                             // a commit behind more deltas is dropped
  uint64_t max_steps = 1'000'000;                       // parents that all calls of Descends look at, then false
};

// Reads a git pack (gitformat-pack, version 2 or 3) as it streams by, without trusting it, to learn the history that it
// carries: which commits it holds and who their parents are. Other objects are inflated, to find where they end, and
// dropped. Commit ids are computed, never believed. A commit as a delta counts when its base is a commit earlier in the
// pack, which is how packs are written; any other delta is dropped, as is a commit whose parents cannot be read for
// sure: what is dropped proves nothing. Memory: max_kept_bytes, two of max_commit_bytes and a zlib window. Not
// thread-safe.
class PackCommits {
 public:
  PackCommits(ObjectFormat format, const PackLimits& limits);
  ~PackCommits();
  PackCommits(const PackCommits&) = delete;
  PackCommits& operator=(const PackCommits&) = delete;

  // Takes the next bytes, cut anywhere. Fails kBadGitRequest for what is no pack, kBodyTooLarge, kOverloaded without
  // memory for zlib. A failure is final: later calls return it again and Descends stays false.
  absl::Status Feed(std::string_view bytes);
  // At the end: the count and the checksum must be right, and nothing may follow. Fails kBadGitRequest.
  absl::Status Finish();

  // True when `old_id` is an ancestor of `new_id` and every step between lies in this pack: a proven fast-forward.
  // False proves nothing. Ids are lower-case hex, anything else is false. Equal ids are no update: false. False until
  // Finish has returned OK. The caller vouches that `old_id` names a commit: one that is not in the pack is known only
  // by name.
  bool Descends(std::string_view new_id, std::string_view old_id) const;
  // Whether a commit of this id was read. Lower-case hex.
  bool Holds(std::string_view id) const;
  // Of commits whose ids are known, so far.
  std::size_t commit_count() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace credbroker::wire
