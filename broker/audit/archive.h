#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "audit/chain.h"
#include "audit/note.h"
#include "audit/segments.h"
#include "base/file.h"

namespace credbroker::audit {

// The broker's copy of one edge's ledger, in the same folder layout, so that every tool for a ledger works on it. Its
// `checkpoint` is the edge's last one that verified against the archived entries; it is never signed by the broker.
//
// Thread-safe (one lock; callers are gRPC threads, not the request path). An OK from Append means: on the disk.
class Archive {
 public:
  // Opens or creates. `key_text` is the edge's public key from its enrolment, never from the batch; an archive that
  // exists must have been made with it. Fails kLedgerForked for another key, kLedgerTampered, kLedgerTruncated,
  // kAlreadyRunning, kFileUnwritable.
  static absl::StatusOr<std::unique_ptr<Archive>> Open(const std::string& folder, std::string_view key_text);
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  // Takes whole lines of the edge's ledger from `first_index` on, and perhaps its newest checkpoint. Lines that are
  // here already must be the same bytes (a batch may be sent twice). Fails kLedgerForked for a gap, a differing line or
  // a checkpoint that the entries do not have; kBadArgument for a line that is not canonical JSON; kLedgerUnavailable
  // when it cannot be written (nothing of the batch is kept then). A checkpoint ahead of the entries is kept in mind
  // until they arrive.
  absl::Status Append(uint64_t first_index, std::string_view lines, std::string_view checkpoint_note);

  // The next index wanted; 0 while the archive cannot be read.
  uint64_t size() const;
  uint64_t checkpoint_size() const;
  const std::string& folder() const { return folder_; }

 private:
  // Gone after a failed sync, until the folder was read anew.
  struct Live {
    Segments segments;
    Chain chain;
    Checkpoint checkpoint;
  };

  Archive(std::string folder, NoteKey key);
  absl::Status Load();
  absl::Status CheckKept(uint64_t first_index, std::string_view lines, uint64_t known) const;
  absl::Status TakeCheckpoint(std::string note);
  absl::Status Write(std::string_view lines);

  const std::string folder_;
  const NoteKey key_;
  base::Fd folder_lock_;
  mutable std::mutex mu_;
  std::optional<Live> live_;
  std::string ahead_;  // a checkpoint note whose entries have not all arrived
};

}  // namespace credbroker::audit
