#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace credbroker::audit {

// The entries of a ledger folder: `entries/<20 digits: index of the first entry>.jsonl`, a canonical line each.
struct SegmentFile {
  uint64_t first_index = 0;
  std::string path;
  uint64_t bytes = 0;
};

std::string SegmentPath(const std::string& folder, uint64_t first_index);
// Sorted; files with other names are left alone. Empty when there are none. Fails kFileUnreadable.
absl::StatusOr<std::vector<SegmentFile>> ListSegments(const std::string& folder);

// Gets a whole line (no newline) and the offset behind its newline; returns false to stop behind this line.
using LineVisitor = std::function<bool(std::string_view line, uint64_t end_offset)>;

struct ScanEnd {
  uint64_t offset = 0;     // behind the last line visited
  bool over_long = false;  // stopped at a line that is longer than any entry may be
};

// Visits the whole lines of a file from byte `offset` on. Memory: one block and one line. Fails kFileUnreadable.
absl::StatusOr<ScanEnd> ScanLines(const std::string& path, uint64_t offset, const LineVisitor& visit);

// Where the next entry goes.
struct Border {
  uint64_t first_index = 0;  // names the segment
  uint64_t offset = 0;       // bytes in it
};

// Takes the lock of a ledger folder for as long as the descriptor lives. Fails kAlreadyRunning, kFileUnwritable.
absl::StatusOr<base::Fd> LockFolder(const std::string& folder);

// The writing end. Movable; not thread-safe, but for Sync and Restore as noted.
class Segments {
 public:
  using File = std::shared_ptr<const base::Fd>;
  // What has to be synced for all that is written now.
  struct Unsynced {
    std::vector<File> files;
    bool folder = false;
  };

  Segments(std::string folder, uint64_t segment_bytes) : folder_(std::move(folder)), segment_bytes_(segment_bytes) {}

  // Opens or creates the segment at `border`, which must be its end.
  absl::Status Open(const Border& border);
  // Appends whole lines with one write(2); begins a new segment, named `next_index`, when this one is full. On failure
  // nothing is appended: a part that got written is cut off again. Fails kDiskFull, kFileUnwritable.
  absl::Status Write(std::string_view lines, uint64_t next_index);
  // True after a part could not be cut off again: only Restore helps.
  bool broken() const { return broken_; }

  Unsynced TakeUnsynced();
  // fdatasync of all of it. Touches no state: may run beside Write.
  static absl::Status Sync(const std::string& folder, const Unsynced& unsynced);

  const Border& border() const { return border_; }
  File file() const { return file_; }
  // That the path still leads to the file that is open, with the length it must have. Fails kLedgerTampered.
  absl::Status CheckInPlace() const;

  // Makes the segment of `durable` anew from its open file up to that border and `lines` behind it, durably; later
  // segments are removed (their lines are in `lines`). A foreign file in its place is set aside as `foreign-<n>`.
  // Fails kLedgerTruncated when the open file has lost durable bytes, kDiskFull, kFileUnwritable.
  absl::Status Restore(const Border& durable, const base::Fd& file, std::string_view lines);

 private:
  absl::Status Rotate(uint64_t next_index);

  std::string folder_;
  uint64_t segment_bytes_;
  Border border_;
  File file_;
  std::vector<File> retired_;
  bool folder_changed_ = false;
  bool broken_ = false;
};

// Moves what stands behind `border` (the rest of its segment and all later ones) to a new file `torn-<n>` in the
// folder, durably. Returns the file's path, or an empty one when there is nothing.
absl::StatusOr<std::string> SetAsideTail(const std::string& folder, const Border& border, uint64_t* bytes);

}  // namespace credbroker::audit
