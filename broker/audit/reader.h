#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace credbroker::audit {

enum class Direction { kOldestFirst, kNewestFirst };

// Gets each whole entry's index and line (no newline); returns false to stop. The view lives for the call.
using EntryVisitor = std::function<bool(uint64_t index, std::string_view line)>;

// True for a folder that holds a ledger or an archive of one.
bool IsLedgerFolder(const std::string& folder);

// Visits entries from `from` on (oldest first), or from the newest one down to `from`. Reads while the ledger is being
// written: bytes after the last newline are left alone. Memory: one block and one line. Fails kFileUnreadable; an
// over-long line (more than 64 KiB) fails kLedgerTampered. Thread-safe.
absl::Status ReadEntries(const std::string& folder, Direction direction, uint64_t from, const EntryVisitor& visit);

// The number of whole entries now. Fails kFileUnreadable.
absl::StatusOr<uint64_t> CountEntries(const std::string& folder);

// One entry. Fails kRecordNotFound.
absl::StatusOr<std::string> ReadEntry(const std::string& folder, uint64_t index);

// Raw lines for shipping, each with its newline.
struct RawLines {
  uint64_t first_index = 0;
  uint64_t count = 0;
  std::string bytes;
};

// Whole lines from `index` on, at most `max_bytes` but one line at least if there is one; from one segment. Empty at
// the end of the ledger. Ship only what is durable (LedgerHealth::durable_size): a power loss may take back the rest,
// and an archive that has seen other lines at the same place reports a fork.
absl::StatusOr<RawLines> ReadFrom(const std::string& folder, uint64_t index, std::size_t max_bytes);

// Follows a ledger: remembers where it stopped, so that each call costs what is new. Not thread-safe.
class Follower {
 public:
  Follower(std::string folder, uint64_t from) : folder_(std::move(folder)), next_(from) {}
  // Visits what was appended since the last call; returns how many.
  absl::StatusOr<uint64_t> Poll(const EntryVisitor& visit);
  // The same as raw lines, for shipping; moves on only by what it returned.
  absl::StatusOr<RawLines> Next(std::size_t max_bytes);
  uint64_t next() const { return next_; }

 private:
  std::string folder_;
  uint64_t next_;
  uint64_t segment_ = 0;  // first index of the segment that `offset_` is in
  uint64_t offset_ = 0;
  bool placed_ = false;
};

}  // namespace credbroker::audit
