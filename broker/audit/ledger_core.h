#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "audit/chain.h"
#include "audit/intents.h"
#include "audit/json_line.h"
#include "audit/ledger.h"
#include "audit/recovery.h"
#include "audit/segments.h"

namespace credbroker::audit {

// What is behind a Ledger: the appending half (ledger.cc), which runs on the callers' threads under one short lock,
// and the keeping half (ledger_keeper.cc), one thread that syncs, hashes, signs and mends.
class Ledger::Impl {
 public:
  struct Start {
    std::string folder, origin;
    LedgerOptions options;
    base::Fd folder_lock;
    Checkpoint checkpoint;
    std::string checkpoint_note;
    Recovered recovered;
  };
  Impl(Start start, crypto::SigningKey key, const base::Clock& clock);
  // Opens the segment for appending, finds the open intents, starts the thread.
  absl::Status Begin();

  absl::Status Append(const model::Record& record, Position* position);
  absl::Status AppendLater(const model::Record& record);
  absl::Status Stage(const model::Record& record, Position* position);
  absl::Status Commit(Position position);
  void WhenDurable(Position position, std::function<void(absl::Status)> done);
  absl::Status Flush();
  absl::Status Close();
  LedgerHealth health() const;
  std::string checkpoint() const;

  const std::string folder_, origin_;
  const LedgerOptions options_;
  const LedgerRepair repair_;
  std::string key_text_;
  std::vector<OpenIntent> open_intents_;

 private:
  using Done = std::function<void(absl::Status)>;
  using Lock = std::unique_lock<std::mutex>;

  // All with mu_ held.
  absl::Status Ready() const;
  absl::Status AddPending(const JsonLine& line, std::size_t limit);
  absl::Status WritePending();
  void Note(const absl::Status& error);
  void Wake();
  bool Busy() const;

  // The keeper's. Those with a Lock release it while they wait for the disk.
  void Keep();
  void Rest(Lock& lock);
  bool SyncDue() const;
  bool CheckpointDue() const;
  void SyncPass(Lock& lock);
  void CheckpointPass(Lock& lock);
  void Mend(Lock& lock);
  void Break(const absl::Status& error, Lock& lock);
  void FailWaiters(const std::string& why, Lock& lock);
  void Settle(uint64_t durable, std::string batch, Lock& lock);
  void Absorb(std::string_view lines);
  absl::Status SaveCheckpoint(std::string* note);

  const crypto::SigningKey key_;
  const base::Clock& clock_;
  const base::Fd folder_lock_;

  mutable std::mutex mu_;
  std::condition_variable wake_;     // for the keeper
  std::condition_variable settled_;  // for Flush
  Segments segments_;                // the keeper's alone while broken_
  std::string pending_;              // lines with an index that are not in the file yet
  uint64_t pending_count_ = 0;
  std::string queue_;                // lines in the file that are not known to be on the disk
  uint64_t written_ = 0;             // entries in the file
  uint64_t durable_ = 0;
  uint64_t flush_target_ = 0;
  uint64_t passes_ = 0;
  absl::Duration dirty_since_;
  std::vector<std::pair<uint64_t, Done>> waiters_;
  std::string checkpoint_note_;
  LedgerHealth health_;
  bool failing_ = false;  // the last write failed
  bool broken_ = false;   // nobody but Mend may touch the segments
  bool idle_ = false;
  bool kick_ = false;
  bool closed_ = false;

  // The keeper's alone.
  Border durable_border_;
  Segments::File durable_file_;
  Chain chain_;
  IntentSet intents_;
  uint64_t hinted_ = 0;
  absl::Duration checkpoint_at_;

  std::once_flag joined_;
  std::thread keeper_;
};

}  // namespace credbroker::audit
