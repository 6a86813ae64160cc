#include "audit/ledger.h"

#include <algorithm>

#include "audit/ledger_core.h"
#include "audit/note.h"
#include "audit/reader.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using base::StrCat;

constexpr std::size_t kMaxPendingBytes = 1 << 20;
constexpr std::size_t kMaxQueueBytes = 16 << 20;

absl::Status Unavailable(const absl::Status& cause) {
  return base::Error(ErrorCode::kLedgerUnavailable, std::string(cause.message()));
}

// The folder's public key must be this one; an empty folder gets it.
absl::Status PinKey(const std::string& folder, const std::string& key_text) {
  const std::string path = StrCat(folder, "/log.vkey");
  const std::string wanted = StrCat(key_text, '\n');
  const absl::StatusOr<std::string> found = base::ReadFile(path, 4096);
  if (!found.ok()) return base::WriteFileAtomic(path, wanted, 0600);
  if (*found == wanted) return absl::OkStatus();
  return base::Error(ErrorCode::kLedgerTampered, StrCat(folder, " belongs to another key"));
}

// The folder's checkpoint; a folder without entries gets the one of the empty tree.
absl::StatusOr<std::string> LoadCheckpoint(const std::string& folder, const std::string& origin,
                                           const crypto::SigningKey& key) {
  const std::string path = StrCat(folder, "/checkpoint");
  if (IsLedgerFolder(folder)) return base::ReadFile(path, kMaxNoteBytes);
  ASSIGN_OR_RETURN(const std::vector<SegmentFile> segments, ListSegments(folder));
  if (!segments.empty()) return base::Error(ErrorCode::kLedgerTampered, StrCat(folder, " has entries but no checkpoint"));
  ASSIGN_OR_RETURN(std::string note, SignNote(CheckpointText({origin, 0, EmptyRoot()}), origin, key));
  RETURN_IF_ERROR(base::WriteFileAtomic(path, note, 0600));
  return note;
}

bool IsLedgerName(std::string_view name) {
  return !name.empty() && name.size() <= 48 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string_view::npos;
}

absl::Status CheckIntent(const model::Record& record) {
  if (record.kind == model::RecordKind::kIntent && !record.request_id.empty()) return absl::OkStatus();
  return base::Error(ErrorCode::kInternal, "an intent needs its kind and a request id");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(const std::string& folder, const std::string& origin,
                                                     crypto::SigningKey key, LedgerOptions options,
                                                     const base::Clock& clock) {
  if (!IsNoteName(origin) || !IsLedgerName(options.name)) return base::Error(ErrorCode::kBadName, "ledger name or origin");
  RETURN_IF_ERROR(base::MakeFolder(folder, 0700));
  RETURN_IF_ERROR(base::CheckOwnership(folder, base::Privacy::kPrivate));
  ASSIGN_OR_RETURN(base::Fd folder_lock, LockFolder(folder));
  const NoteKey note_key = MakeNoteKey(origin, key.public_key().bytes());
  RETURN_IF_ERROR(PinKey(folder, NoteKeyText(note_key)));
  ASSIGN_OR_RETURN(std::string note, LoadCheckpoint(folder, origin, key));
  absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(note, {&note_key, 1});
  if (!checkpoint.ok()) return base::Error(ErrorCode::kLedgerTampered, std::string(checkpoint.status().message()));
  ASSIGN_OR_RETURN(Recovered recovered, Recover(folder, *checkpoint), StrCat("opening ledger ", folder));

  auto impl = std::make_unique<Impl>(Impl::Start{folder, origin, std::move(options), std::move(folder_lock), *checkpoint,
                                                 std::move(note), std::move(recovered)},
                                     std::move(key), clock);
  impl->key_text_ = NoteKeyText(note_key);
  RETURN_IF_ERROR(impl->Begin(), StrCat("opening ledger ", folder));
  return std::unique_ptr<Ledger>(new Ledger(std::move(impl)));
}

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::~Ledger() { impl_->Close().IgnoreError(); }

absl::Status Ledger::Append(const model::Record& record, Position* position) { return impl_->Append(record, position); }
absl::Status Ledger::AppendLater(const model::Record& record) { return impl_->AppendLater(record); }
absl::Status Ledger::Flush() { return impl_->Flush(); }
absl::Status Ledger::Close() { return impl_->Close(); }
LedgerHealth Ledger::health() const { return impl_->health(); }
Durability Ledger::durability() const { return impl_->options_.durability; }
const std::string& Ledger::folder() const { return impl_->folder_; }
const LedgerRepair& Ledger::repair() const { return impl_->repair_; }
const std::vector<OpenIntent>& Ledger::open_intents() const { return impl_->open_intents_; }
std::string Ledger::checkpoint() const { return impl_->checkpoint(); }
std::string Ledger::key_text() const { return impl_->key_text_; }

void Ledger::WhenDurable(Position position, std::function<void(absl::Status)> done) {
  impl_->WhenDurable(position, std::move(done));
}

absl::StatusOr<IntentReceipt> Ledger::AppendIntent(const model::Record& record) {
  RETURN_IF_ERROR(CheckIntent(record));
  Position position;
  RETURN_IF_ERROR(impl_->Append(record, &position));
  return IntentReceipt(position);
}

absl::StatusOr<StagedIntent> Ledger::StageIntent(const model::Record& record) {
  RETURN_IF_ERROR(CheckIntent(record));
  Position position;
  RETURN_IF_ERROR(impl_->Stage(record, &position));
  return StagedIntent(position);
}

absl::StatusOr<IntentReceipt> Ledger::Commit(const StagedIntent& intent) {
  RETURN_IF_ERROR(impl_->Commit(intent.position()));
  return IntentReceipt(intent.position());
}

absl::Status Ledger::Impl::Append(const model::Record& record, Position* position) {
  thread_local JsonLine line;
  FormatRecord(record, &line);
  const std::lock_guard lock(mu_);
  if (absl::Status ready = Ready(); !ready.ok()) {
    ++health_.failed_appends;
    return ready;
  }
  const std::size_t kept = pending_.size();
  line.AppendTo(&pending_, options_.name, written_ + pending_count_);
  ++pending_count_;
  if (absl::Status status = WritePending(); !status.ok()) {
    // The record takes no index: its caller is told that it is not in the ledger.
    pending_.resize(kept);
    --pending_count_;
    ++health_.failed_appends;
    return Unavailable(status);
  }
  if (position != nullptr) position->index = written_ - 1;
  if (idle_) Wake();
  return absl::OkStatus();
}

absl::Status Ledger::Impl::AppendLater(const model::Record& record) {
  thread_local JsonLine line;
  FormatRecord(record, &line);
  const std::lock_guard lock(mu_);
  if (closed_) return Ready();
  return AddPending(line, kMaxPendingBytes);
}

absl::Status Ledger::Impl::Stage(const model::Record& record, Position* position) {
  thread_local JsonLine line;
  FormatRecord(record, &line);
  const std::lock_guard lock(mu_);
  absl::Status ready = Ready();
  // On a disk that refuses, the next intent must not take a place that nobody can give it.
  if (ready.ok() && failing_) ready = WritePending();
  if (!ready.ok()) {
    ++health_.failed_appends;
    return Unavailable(ready);
  }
  position->index = written_ + pending_count_;
  return AddPending(line, kMaxPendingBytes / 2);  // the other half is for outcomes
}

absl::Status Ledger::Impl::AddPending(const JsonLine& line, std::size_t limit) {
  if (pending_.size() + line.text.size() > limit) {
    ++health_.failed_appends;
    return Unavailable(health_.last_error);
  }
  line.AppendTo(&pending_, options_.name, written_ + pending_count_);
  ++pending_count_;
  if (idle_) Wake();
  return absl::OkStatus();
}

absl::Status Ledger::Impl::Commit(Position position) {
  const std::lock_guard lock(mu_);
  if (position.index < written_) return absl::OkStatus();
  absl::Status ready = Ready();
  if (ready.ok()) ready = WritePending();
  if (ready.ok()) return absl::OkStatus();
  ++health_.failed_appends;
  return Unavailable(ready);
}

void Ledger::Impl::WhenDurable(Position position, Done done) {
  absl::Status status;
  {
    const std::lock_guard lock(mu_);
    const bool durable = position.index < durable_;
    if (!durable) status = Ready();
    if (!durable && status.ok()) {
      waiters_.emplace_back(position.index, std::move(done));
      return Wake();
    }
  }
  done(std::move(status));
}

absl::Status Ledger::Impl::Flush() {
  Lock lock(mu_);
  const uint64_t target = written_ + pending_count_;
  const uint64_t before = passes_;
  flush_target_ = std::max(flush_target_, target);
  Wake();
  // The pass that is under way may have begun too early; the next one tries for sure.
  settled_.wait(lock, [&] { return health_.checkpoint_size >= target || passes_ >= before + 2 || closed_; });
  return health_.checkpoint_size >= target ? absl::OkStatus() : Unavailable(health_.last_error);
}

absl::Status Ledger::Impl::Close() {
  {
    const std::lock_guard lock(mu_);
    closed_ = true;
    Wake();
  }
  settled_.notify_all();
  std::call_once(joined_, [this] {
    if (keeper_.joinable()) keeper_.join();
  });
  const std::lock_guard lock(mu_);
  return health_.checkpoint_size == written_ + pending_count_ ? absl::OkStatus() : Unavailable(health_.last_error);
}

LedgerHealth Ledger::Impl::health() const {
  const std::lock_guard lock(mu_);
  LedgerHealth health = health_;
  health.size = written_ + pending_count_;
  health.durable_size = durable_;
  health.writable = !failing_ && !broken_ && !closed_;
  return health;
}

std::string Ledger::Impl::checkpoint() const {
  const std::lock_guard lock(mu_);
  return checkpoint_note_;
}

absl::Status Ledger::Impl::Ready() const {
  if (closed_) return base::Error(ErrorCode::kLedgerUnavailable, "the ledger is closed");
  if (broken_) return Unavailable(health_.last_error);
  if (queue_.size() > kMaxQueueBytes) return base::Error(ErrorCode::kLedgerUnavailable, "the disk does not keep up");
  return absl::OkStatus();
}

absl::Status Ledger::Impl::WritePending() {
  const absl::Status status = segments_.Write(pending_, written_);
  failing_ = !status.ok();
  if (failing_) {
    Note(status);
    if (segments_.broken()) broken_ = true;
    return status;
  }
  if (queue_.empty()) dirty_since_ = clock_.Monotonic();
  queue_ += pending_;
  written_ += pending_count_;
  pending_.clear();
  pending_count_ = 0;
  return absl::OkStatus();
}

void Ledger::Impl::Note(const absl::Status& error) {
  health_.last_error = error;
  health_.last_error_at = clock_.Now();
}

void Ledger::Impl::Wake() {
  kick_ = true;
  idle_ = false;
  wake_.notify_one();
}

bool Ledger::Impl::Busy() const { return pending_count_ > 0 || written_ > durable_ || broken_; }

}  // namespace credbroker::audit
