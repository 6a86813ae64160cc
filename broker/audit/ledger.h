#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "audit/tiles.h"
#include "base/clock.h"
#include "crypto/sign.h"
#include "model/record.h"

namespace credbroker::audit {

enum class Durability {
  // Append returns when the kernel has the line; fdatasync follows within max_flush_delay. A killed process loses
  // nothing that was acknowledged; a machine that stops may lose the last max_flush_delay of entries.
  kFlush,
  // The caller waits for WhenDurable before it goes on. Nothing acknowledged is ever lost.
  kSync,
};

struct LedgerOptions {
  std::string name = "edge";  // ids of records are NAME-INDEX
  Durability durability = Durability::kFlush;
  absl::Duration max_flush_delay = absl::Milliseconds(100);
  absl::Duration max_trail = absl::Milliseconds(5);  // how long an AppendLater line may wait for company
  absl::Duration checkpoint_interval = absl::Seconds(1);
  uint64_t segment_bytes = 64 << 20;
  // kNewest for a ledger that an archive follows: the archive's tiles are complete. Without them Verify says that entries
  // were changed, not which.
  LeafTiles leaf_tiles = LeafTiles::kAll;
};

// Where a record stands: its index in the ledger, from 0.
struct Position {
  uint64_t index = 0;
};

// Proof that an intent stands in the ledger; only a Ledger makes one. Under Durability::kSync it counts only after
// WhenDurable(receipt.position()) said OK.
class IntentReceipt {
 public:
  Position position() const { return position_; }

 private:
  friend class Ledger;
  explicit IntentReceipt(Position position) : position_(position) {}
  Position position_;
};

// An intent that has its place and is not written yet; only a Ledger makes one. Good for Commit, and for nothing else.
class StagedIntent {
 public:
  Position position() const { return position_; }

 private:
  friend class Ledger;
  explicit StagedIntent(Position position) : position_(position) {}
  Position position_;
};

// An intent for which the ledger holds no outcome; its effect may or may not have happened.
struct OpenIntent {
  uint64_t index = 0;
  std::string request_id;
  std::string line;  // the intent's canonical JSON
};

// What Open found and mended.
struct LedgerRepair {
  uint64_t torn_bytes = 0;        // cut from the tail
  std::string torn_file;          // where they are kept
  uint64_t beyond_checkpoint = 0; // whole entries that the last checkpoint did not cover yet: taken over
  bool tiles_rebuilt = false;     // the hash tiles were missing or wrong, and were made anew from the entries
};

struct LedgerHealth {
  uint64_t size = 0;          // entries given out, trailing ones included
  uint64_t durable_size = 0;  // entries that a power loss cannot take
  uint64_t checkpoint_size = 0;
  uint64_t fsync_count = 0;
  uint64_t failed_appends = 0;
  uint64_t alarms = 0;        // the file vanished, was replaced or cut by someone else, or an fdatasync failed
  bool writable = true;
  absl::Status last_error;    // of the last failure, also after recovery
  absl::Time last_error_at = absl::InfinitePast();
};

// The tamper-evident log of one process: appends canonical lines, and keeps on a thread of its own the Merkle tree,
// its tiles and the signed checkpoint up to date. One Ledger per folder (a lock file sees to it).
//
// Folder (0700; files 0600): `checkpoint` (C2SP signed note; exists from the first Open on), `log.vkey` (public key),
// `entries/<20 digits: first index>.jsonl`, `tile/...` (C2SP tlog-tiles), `torn-<n>` (what Open cut off), `open-from`
// (a hint: no intent before this index is open), `lock`.
//
// A disk that does not keep up (16 MiB not yet synced) makes appends fail, so that the bound of Durability holds.
//
// Thread-safe. An append or a batch of staged intents costs one write(2) under a short lock; it never waits for a sync, a checkpoint or a recovery.
class Ledger {
 public:
  // Opens or creates. Takes over whole entries beyond the checkpoint, sets a torn tail aside, goes on after it.
  // Fails kAlreadyRunning, kFileUnwritable, kDiskFull, kUnsafeFile; kLedgerTampered when the checkpoint is signed by
  // another key, or neither the tiles nor the entries have its root; kLedgerTruncated when entries it covers are
  // missing. Quick: covered entries are hashed anew only when the tiles do not agree; Verify looks at each byte.
  // `origin` names the log and its key (a note name). `clock` outlives the ledger.
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(const std::string& folder, const std::string& origin,
                                                      crypto::SigningKey key, LedgerOptions options,
                                                      const base::Clock& clock);
  // Close, if that was not called.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Appends a record. OK: the kernel has it (see Durability). Fails kLedgerUnavailable at once; then the record is not
  // in the ledger and nothing may happen on its account. The next call tries again by itself. `position` may be null.
  absl::Status Append(const model::Record& record, Position* position);

  // Append for a record of kind intent, with the receipt that lending a credential takes. Fails as Append does, and
  // kInternal for a record of another kind or without a request id.
  absl::StatusOr<IntentReceipt> AppendIntent(const model::Record& record);

  // AppendIntent in two halves, so that the intents of requests that come together share one write: first all stage,
  // then all commit, and the first Commit writes for all. Stage fails as AppendIntent does, and leaves nothing behind.
  // When Commit fails (kLedgerUnavailable) nothing may happen on the intent's account, but it keeps its place and may
  // be written later: its owner closes it with an outcome, by AppendLater.
  absl::StatusOr<StagedIntent> StageIntent(const model::Record& record);
  absl::StatusOr<IntentReceipt> Commit(const StagedIntent& intent);

  // Appends a record that nobody waits for (an outcome): it is written with the next Append, or within max_trail.
  // Order in the ledger is the order of calls. Fails kLedgerUnavailable when 1 MiB of such lines
  // wait on a full disk.
  absl::Status AppendLater(const model::Record& record);

  // Calls `done` once: with OK when the record at `position` and all before it are on the disk, or with
  // kLedgerUnavailable. Called on the ledger's thread, or at once when it is durable already; must not block.
  void WhenDurable(Position position, std::function<void(absl::Status)> done);

  // Waits until everything appended is durable and covered by the checkpoint. Fails kLedgerUnavailable.
  absl::Status Flush();

  // Writes what trails, syncs, writes a last checkpoint, stops the thread. Appends fail afterwards. Idempotent.
  absl::Status Close();

  LedgerHealth health() const;
  Durability durability() const;
  const std::string& folder() const;
  const LedgerRepair& repair() const;  // what Open mended
  // The intents that were open when the ledger was opened, oldest first; the caller appends outcome `unknown` for each.
  const std::vector<OpenIntent>& open_intents() const;
  // The last signed checkpoint, for shipping and pinning.
  std::string checkpoint() const;
  // The public key as verifiers pin it (C2SP vkey).
  std::string key_text() const;

 private:
  class Impl;
  explicit Ledger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace credbroker::audit
