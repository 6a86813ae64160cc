#include "audit/archive.h"

#include <algorithm>

#include "audit/canonical.h"
#include "audit/json_line.h"
#include "audit/reader.h"
#include "audit/recovery.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using base::StrCat;

constexpr uint64_t kSegmentBytes = 64 << 20;

absl::Status Forked(std::string_view why) { return base::Error(ErrorCode::kLedgerForked, why); }
absl::Status Unavailable(const absl::Status& cause) {
  return base::Error(ErrorCode::kLedgerUnavailable, std::string(cause.message()));
}

absl::Status PinKey(const std::string& folder, const NoteKey& key) {
  const std::string path = StrCat(folder, "/log.vkey");
  const std::string wanted = StrCat(NoteKeyText(key), '\n');
  const absl::StatusOr<std::string> found = base::ReadFile(path, 4096);
  if (!found.ok()) return base::WriteFileAtomic(path, wanted, 0600);
  return *found == wanted ? absl::OkStatus() : Forked("the archive belongs to another key");
}

// Each line must be a canonical object: an archive holds nothing that a verifier would stumble over.
absl::StatusOr<uint64_t> CountChecked(std::string_view lines) {
  uint64_t count = 0;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const bool good = end != std::string_view::npos && end <= kMaxLeafBytes && IsCanonicalObject(lines.substr(0, end));
    if (!good) return base::Error(ErrorCode::kBadArgument, StrCat("line ", count, " of the batch is no canonical record"));
    lines.remove_prefix(end + 1);
    ++count;
  }
  return count;
}

std::string_view SkipLines(std::string_view lines, uint64_t count) {
  for (; count > 0; --count) lines.remove_prefix(lines.find('\n') + 1);
  return lines;
}

}  // namespace

Archive::Archive(std::string folder, NoteKey key) : folder_(std::move(folder)), key_(std::move(key)) {}

absl::StatusOr<std::unique_ptr<Archive>> Archive::Open(const std::string& folder, std::string_view key_text) {
  ASSIGN_OR_RETURN(NoteKey key, ParseNoteKey(key_text));
  RETURN_IF_ERROR(base::MakeFolder(folder, 0700));
  std::unique_ptr<Archive> archive(new Archive(folder, std::move(key)));
  ASSIGN_OR_RETURN(archive->folder_lock_, LockFolder(folder));
  RETURN_IF_ERROR(PinKey(folder, archive->key_));
  RETURN_IF_ERROR(archive->Load(), StrCat("opening archive ", folder));
  return archive;
}

absl::Status Archive::Load() {
  live_.reset();
  Live live{Segments(folder_, kSegmentBytes), Chain(folder_), {key_.name, 0, EmptyRoot()}};
  if (IsLedgerFolder(folder_)) {
    ASSIGN_OR_RETURN(const std::string note, base::ReadFile(StrCat(folder_, "/checkpoint"), kMaxNoteBytes));
    ASSIGN_OR_RETURN(live.checkpoint, OpenCheckpoint(note, {&key_, 1}));
  }
  ASSIGN_OR_RETURN(Recovered recovered, Recover(folder_, live.checkpoint));
  live.chain = std::move(recovered.chain);
  RETURN_IF_ERROR(live.segments.Open(recovered.border));
  RETURN_IF_ERROR(Segments::Sync(folder_, live.segments.TakeUnsynced()));
  live_.emplace(std::move(live));
  return absl::OkStatus();
}

absl::Status Archive::Append(uint64_t first_index, std::string_view lines, std::string_view checkpoint_note) {
  ASSIGN_OR_RETURN(const uint64_t count, CountChecked(lines));
  const std::lock_guard lock(mu_);
  if (!live_.has_value()) {
    // A sync failed before; what the disk really holds is read anew.
    if (absl::Status status = Load(); !status.ok()) return Unavailable(status);
  }
  const uint64_t size = live_->chain.size();
  if (first_index > size) return Forked(StrCat("entries ", size, " to ", first_index, " are missing"));
  const uint64_t known = std::min(count, size - first_index);
  RETURN_IF_ERROR(CheckKept(first_index, lines, known));
  const std::string_view fresh = SkipLines(lines, known);
  if (!fresh.empty()) RETURN_IF_ERROR(Write(fresh));
  if (!checkpoint_note.empty()) return TakeCheckpoint(std::string(checkpoint_note));
  return ahead_.empty() ? absl::OkStatus() : TakeCheckpoint(ahead_);
}

absl::Status Archive::CheckKept(uint64_t first_index, std::string_view lines, uint64_t known) const {
  uint64_t index = first_index;
  bool same = true;
  if (known == 0) return absl::OkStatus();
  RETURN_IF_ERROR(ReadEntries(folder_, Direction::kOldestFirst, first_index, [&](uint64_t, std::string_view kept) {
    const std::size_t end = lines.find('\n');
    same = lines.substr(0, end) == kept;
    lines.remove_prefix(end + 1);
    return same && ++index < first_index + known;
  }));
  return same ? absl::OkStatus() : Forked(StrCat("entry ", index, " differs from the archived one"));
}

absl::Status Archive::Write(std::string_view lines) {
  if (absl::Status status = live_->segments.Write(lines, live_->chain.size()); !status.ok()) {
    if (live_->segments.broken()) live_.reset();
    return Unavailable(status);
  }
  if (absl::Status status = Segments::Sync(folder_, live_->segments.TakeUnsynced()); !status.ok()) {
    live_.reset();
    return Unavailable(status);
  }
  live_->chain.AppendLines(lines);
  return absl::OkStatus();
}

absl::Status Archive::TakeCheckpoint(std::string note) {
  const absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(note, {&key_, 1});
  if (!checkpoint.ok()) return Forked(std::string(checkpoint.status().message()));
  if (checkpoint->size > live_->chain.size()) {
    ahead_ = std::move(note);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(live_->chain.SaveTiles());
  const uint64_t size = live_->chain.size();
  ASSIGN_OR_RETURN(const Hash root, checkpoint->size == size ? absl::StatusOr<Hash>(live_->chain.Root())
                                                             : RootAt(TileNodes(folder_, size), checkpoint->size));
  if (root != checkpoint->root) {
    return Forked(StrCat("the archived entries do not have the root of the checkpoint of size ", checkpoint->size));
  }
  ahead_.clear();
  if (checkpoint->size <= live_->checkpoint.size && IsLedgerFolder(folder_)) return absl::OkStatus();
  RETURN_IF_ERROR(base::WriteFileAtomic(StrCat(folder_, "/checkpoint"), note, 0600));
  live_->checkpoint = *checkpoint;
  return absl::OkStatus();
}

uint64_t Archive::size() const {
  const std::lock_guard lock(mu_);
  return live_.has_value() ? live_->chain.size() : 0;
}

uint64_t Archive::checkpoint_size() const {
  const std::lock_guard lock(mu_);
  return live_.has_value() ? live_->checkpoint.size : 0;
}

}  // namespace credbroker::audit
