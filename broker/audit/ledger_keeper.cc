#include <algorithm>
#include <chrono>

#include "audit/ledger_core.h"
#include "audit/note.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

constexpr auto kRetry = std::chrono::milliseconds(50);
constexpr auto kLongRest = std::chrono::seconds(1);
constexpr uint64_t kHintStep = 4096;

}  // namespace

Ledger::Impl::Impl(Start start, crypto::SigningKey key, const base::Clock& clock)
    : folder_(std::move(start.folder)),
      origin_(std::move(start.origin)),
      options_(std::move(start.options)),
      repair_(std::move(start.recovered.repair)),
      key_(std::move(key)),
      clock_(clock),
      folder_lock_(std::move(start.folder_lock)),
      segments_(folder_, options_.segment_bytes),
      written_(start.recovered.chain.size()),
      checkpoint_note_(std::move(start.checkpoint_note)),
      durable_border_(start.recovered.border),
      chain_(std::move(start.recovered.chain)),
      checkpoint_at_(clock.Monotonic()) {
  health_.checkpoint_size = start.checkpoint.size;
  chain_.Write(options_.leaf_tiles);
}

absl::Status Ledger::Impl::Begin() {
  RETURN_IF_ERROR(segments_.Open(durable_border_));
  // Entries behind the checkpoint came from the page cache, perhaps: they are on the disk before they count.
  RETURN_IF_ERROR(Segments::Sync(folder_, segments_.TakeUnsynced()));
  durable_ = written_;
  durable_file_ = segments_.file();
  ASSIGN_OR_RETURN(open_intents_, intents_.Load(folder_, written_));
  keeper_ = std::thread([this] { Keep(); });
  return absl::OkStatus();
}

void Ledger::Impl::Keep() {
  Lock lock(mu_);
  for (bool last = false; !last;) {
    Rest(lock);
    last = closed_;
    if (broken_) Mend(lock);
    if (!broken_ && pending_count_ > 0) WritePending().IgnoreError();  // noted in health
    if (!broken_ && SyncDue()) SyncPass(lock);
    if (!broken_ && CheckpointDue()) CheckpointPass(lock);
    if (broken_ || Busy()) {
      // The next pass tries again.
    } else if (const absl::Status status = segments_.CheckInPlace(); !status.ok()) {
      Break(status, lock);
    }
    ++passes_;
    settled_.notify_all();
  }
  FailWaiters("the ledger is closed", lock);
}

void Ledger::Impl::Rest(Lock& lock) {
  std::chrono::nanoseconds rest = kLongRest;
  if (durable_ > health_.checkpoint_size) rest = kRetry;
  if (Busy()) rest = failing_ || broken_ ? kRetry : absl::ToChronoNanoseconds(options_.max_trail);
  idle_ = !Busy();
  wake_.wait_for(lock, rest, [this] { return kick_; });
  kick_ = idle_ = false;
}

bool Ledger::Impl::SyncDue() const {
  if (written_ == durable_) return false;
  // At half of the delay, so that the sync itself fits into the rest.
  const bool late = clock_.Monotonic() - dirty_since_ >= options_.max_flush_delay / 2;
  return closed_ || late || !waiters_.empty() || flush_target_ > durable_;
}

bool Ledger::Impl::CheckpointDue() const {
  if (durable_ == health_.checkpoint_size) return false;
  const bool late = clock_.Monotonic() - checkpoint_at_ >= options_.checkpoint_interval;
  return closed_ || late || flush_target_ > health_.checkpoint_size;
}

void Ledger::Impl::SyncPass(Lock& lock) {
  if (const absl::Status status = segments_.CheckInPlace(); !status.ok()) return Break(status, lock);
  const uint64_t target = written_;
  std::string batch = std::exchange(queue_, {});
  const Segments::Unsynced unsynced = segments_.TakeUnsynced();
  const Border border = segments_.border();
  const Segments::File file = segments_.file();
  const absl::Duration began = clock_.Monotonic();
  lock.unlock();
  const absl::Status status = Segments::Sync(folder_, unsynced);
  lock.lock();
  ++health_.fsync_count;
  if (!status.ok()) {
    // The kernel may have dropped the pages: what is not known to be on the disk is written anew by Mend.
    queue_.insert(0, batch);
    return Break(status, lock);
  }
  durable_border_ = border;
  durable_file_ = file;
  dirty_since_ = began;  // of what came meanwhile, at the earliest
  Settle(target, std::move(batch), lock);
}

// Everything below `durable` is on the disk: the waiters are told first, then the tree grows by the batch.
void Ledger::Impl::Settle(uint64_t durable, std::string batch, Lock& lock) {
  durable_ = durable;
  std::vector<Done> done;
  std::erase_if(waiters_, [&](auto& waiter) {
    if (waiter.first >= durable) return false;
    done.push_back(std::move(waiter.second));
    return true;
  });
  lock.unlock();
  for (Done& call : done) call(absl::OkStatus());
  Absorb(batch);
  lock.lock();
}

void Ledger::Impl::Absorb(std::string_view lines) {
  for (std::size_t end; (end = lines.find('\n')) != std::string_view::npos; lines.remove_prefix(end + 1)) {
    intents_.Scan(chain_.size(), lines.substr(0, end));
    chain_.Append(LeafHash(lines.substr(0, end)));
  }
}

void Ledger::Impl::CheckpointPass(Lock& lock) {
  lock.unlock();
  std::string note;
  const absl::Status status = SaveCheckpoint(&note);
  lock.lock();
  checkpoint_at_ = clock_.Monotonic();
  if (!status.ok()) return Note(status);  // entries are safe without it; the next interval tries again
  checkpoint_note_ = std::move(note);
  health_.checkpoint_size = chain_.size();
}

absl::Status Ledger::Impl::SaveCheckpoint(std::string* note) {
  RETURN_IF_ERROR(base::MakeFolder(folder_, 0700));
  RETURN_IF_ERROR(chain_.SaveTiles());
  ASSIGN_OR_RETURN(*note, SignNote(CheckpointText({origin_, chain_.size(), chain_.Root()}), origin_, key_));
  RETURN_IF_ERROR(base::WriteFileAtomic(base::StrCat(folder_, "/checkpoint"), *note, 0600));
  const uint64_t floor = intents_.Floor(chain_.size());
  if (floor < hinted_ + kHintStep) return absl::OkStatus();
  hinted_ = floor;
  return SaveOpenFrom(folder_, floor);
}

// Nothing is appended until the segment stands again, with all lines that were acknowledged.
void Ledger::Impl::Mend(Lock& lock) {
  const std::string lines = queue_;
  lock.unlock();
  const absl::Status status = segments_.Restore(durable_border_, *durable_file_, lines);
  lock.lock();
  if (!status.ok()) return Note(status);
  broken_ = failing_ = false;
  durable_border_ = segments_.border();
  durable_file_ = segments_.file();
  Settle(written_, std::exchange(queue_, {}), lock);
}

void Ledger::Impl::Break(const absl::Status& error, Lock& lock) {
  broken_ = true;
  Note(error);
  ++health_.alarms;
  FailWaiters(std::string(error.message()), lock);
}

void Ledger::Impl::FailWaiters(const std::string& why, Lock& lock) {
  const auto waiters = std::exchange(waiters_, {});
  lock.unlock();
  for (const auto& [index, done] : waiters) {
    done(base::Error(base::ErrorCode::kLedgerUnavailable, why));
  }
  lock.lock();
}

}  // namespace credbroker::audit
