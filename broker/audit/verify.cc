#include "audit/verify.h"

#include <algorithm>
#include <vector>

#include "audit/canonical.h"
#include "audit/note.h"
#include "audit/segments.h"
#include "audit/tiles.h"
#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

using base::StrCat;

// What stands in the entry files.
struct Scan {
  std::vector<Hash> leaves;    // of the whole lines
  uint64_t torn_bytes = 0;     // behind them
  bool later_segment = false;  // a segment follows that does not continue them
  Hash almost{};               // leaf hash of the cut line but for its last byte
};

absl::Status HashCutLine(const SegmentFile& segment, uint64_t offset, Scan* scan) {
  ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(segment.path, segment.bytes + (64 << 20)));
  const std::string_view cut = std::string_view(bytes).substr(std::min<std::size_t>(bytes.size(), offset));
  if (!cut.empty()) scan->almost = LeafHash(cut.substr(0, cut.size() - 1));
  return absl::OkStatus();
}

// Lines behind the checkpoint must be records; the first that is not begins the torn tail.
absl::StatusOr<Scan> ScanEntries(const std::string& folder, uint64_t covered) {
  Scan scan;
  bool good = true;
  ASSIGN_OR_RETURN(const std::vector<SegmentFile> segments, ListSegments(folder));
  for (const SegmentFile& segment : segments) {
    good = good && segment.first_index == scan.leaves.size();
    if (!good) {
      scan.later_segment = scan.later_segment || segment.bytes > 0;
      scan.torn_bytes += segment.bytes;
      continue;
    }
    uint64_t end = 0;
    ASSIGN_OR_RETURN(const ScanEnd scanned, ScanLines(segment.path, 0, [&](std::string_view line, uint64_t offset) {
                       good = scan.leaves.size() < covered || IsCanonicalObject(line);
                       if (!good) return false;
                       scan.leaves.push_back(LeafHash(line));
                       end = offset;
                       return true;
                     }));
    if (good && !scanned.over_long && end >= segment.bytes) continue;
    good = false;
    scan.torn_bytes += segment.bytes - std::min(segment.bytes, end);
    RETURN_IF_ERROR(HashCutLine(segment, end, &scan));
  }
  return scan;
}

Hash RootOf(const std::vector<Hash>& leaves, uint64_t size) {
  CompactRange range;
  for (uint64_t i = 0; i < size; ++i) range.Append(leaves[i]);
  return range.Root();
}

// The leaf hashes as they were when the checkpoint was signed, if the tiles still prove them; else empty.
std::vector<Hash> ProvenLeaves(const std::string& folder, const Checkpoint& checkpoint) {
  std::vector<Hash> leaves;
  const TileNodes nodes(folder, checkpoint.size);
  while (leaves.size() < checkpoint.size) {
    const uint64_t width = std::min(kTileWidth, checkpoint.size - leaves.size());
    const absl::StatusOr<std::vector<Hash>> tile = nodes.Tile(0, leaves.size() / kTileWidth, width);
    if (!tile.ok()) return {};
    leaves.insert(leaves.end(), tile->begin(), tile->begin() + static_cast<std::ptrdiff_t>(width));
  }
  return RootOf(leaves, checkpoint.size) == checkpoint.root ? leaves : std::vector<Hash>();
}

class Verification {
 public:
  Verification(std::string folder, VerifyReport* report) : folder_(std::move(folder)), report_(report) {}

  void Run(std::string_view pinned_key, std::string_view pinned_checkpoint) {
    if (!LoadKey(pinned_key) || !LoadCheckpoint()) return;
    absl::StatusOr<Scan> scan = ScanEntries(folder_, checkpoint_.size);
    if (!scan.ok()) return Conclude(Verdict::kUnreadable, std::string(scan.status().message()));
    scan_ = *std::move(scan);
    report_->entries = scan_.leaves.size();
    report_->checkpoint_size = checkpoint_.size;
    report_->beyond_checkpoint = report_->entries - std::min(report_->entries, checkpoint_.size);
    report_->torn_bytes = scan_.torn_bytes;
    if (!AgreesWithOwn() || !AgreesWithPinned(pinned_checkpoint)) return;
    Finish();
  }

 private:
  void Conclude(Verdict verdict, std::string words, std::optional<uint64_t> entry = std::nullopt) {
    report_->verdict = verdict;
    report_->words = std::move(words);
    report_->entry = entry;
  }

  bool Fail(Verdict verdict, std::string words, std::optional<uint64_t> entry = std::nullopt) {
    Conclude(verdict, std::move(words), entry);
    return false;
  }

  bool LoadKey(std::string_view pinned) {
    report_->key_pinned = !pinned.empty();
    std::string text(pinned);
    if (pinned.empty()) {
      absl::StatusOr<std::string> file = base::ReadFile(StrCat(folder_, "/log.vkey"), 4096);
      if (!file.ok()) return Fail(Verdict::kUnreadable, "The folder holds no log.vkey, and no key was pinned.");
      text = *std::move(file);
    }
    absl::StatusOr<NoteKey> key = ParseNoteKey(text);
    if (!key.ok()) return Fail(Verdict::kUnreadable, "The public key is not a C2SP verifier key.");
    key_ = *std::move(key);
    return true;
  }

  bool OpenNote(std::string_view note, std::string_view which, Checkpoint* checkpoint) {
    absl::StatusOr<Checkpoint> opened = OpenCheckpoint(note, {&key_, 1});
    if (opened.ok()) {
      *checkpoint = *std::move(opened);
      return true;
    }
    const bool malformed = base::CodeOf(opened.status()) == base::ErrorCode::kBadArgument;
    return Fail(malformed ? Verdict::kUnreadable : Verdict::kBadSignature,
                StrCat("The ", which, " checkpoint ", malformed ? "is malformed" : "is not signed by the key", " (",
                       std::string(opened.status().message()), ")."));
  }

  bool LoadCheckpoint() {
    const absl::StatusOr<std::string> note = base::ReadFile(StrCat(folder_, "/checkpoint"), kMaxNoteBytes);
    if (!note.ok()) return Fail(Verdict::kUnreadable, "The folder holds no readable checkpoint, so it is no ledger.");
    if (!OpenNote(*note, "ledger's", &checkpoint_)) return false;
    report_->origin = checkpoint_.origin;
    return true;
  }

  bool AgreesWithOwn() {
    const uint64_t found = scan_.leaves.size();
    if (found >= checkpoint_.size && RootOf(scan_.leaves, checkpoint_.size) == checkpoint_.root) return true;
    const std::vector<Hash> proven = ProvenLeaves(folder_, checkpoint_);
    const uint64_t both = std::min<uint64_t>(found, proven.size());
    for (uint64_t i = 0; i < both; ++i) {
      if (scan_.leaves[i] != proven[i]) return FailEdited(i);
    }
    if (found >= checkpoint_.size) {
      return Fail(Verdict::kEdited, "The entries do not have the signed root: at least one was changed, removed or put in. "
                                    "The hash tiles do not prove which; compare with an archive.");
    }
    const bool newline_changed = scan_.torn_bytes > 0 && found < proven.size() && scan_.almost == proven[found];
    if (scan_.later_segment || newline_changed) return FailEdited(found);
    return Fail(Verdict::kTruncated,
                StrCat("The ledger ends before entry ", found, " although its checkpoint covers ", checkpoint_.size,
                       " entries: the rest was cut off or lost."),
                found);
  }

  bool FailEdited(uint64_t entry) {
    return Fail(Verdict::kEdited, StrCat("Entry ", entry, " is not what the checkpoint signed: it was changed, removed, or ",
                                         "another was put in its place."),
                entry);
  }

  bool AgreesWithPinned(std::string_view note) {
    if (note.empty()) return true;
    Checkpoint pinned;
    report_->checkpoint_pinned = true;
    if (!OpenNote(note, "pinned", &pinned)) return false;
    if (pinned.size > scan_.leaves.size()) {
      return Fail(Verdict::kTruncated,
                  StrCat("The pinned checkpoint covers ", pinned.size, " entries, but the ledger holds ",
                         scan_.leaves.size(), ": it was cut back together with its own checkpoint."),
                  scan_.leaves.size());
    }
    if (RootOf(scan_.leaves, pinned.size) == pinned.root) return true;
    return Fail(Verdict::kForked, StrCat("The first ", pinned.size, " entries are not those that the pinned checkpoint signed: ",
                                         "this is another history under the same key."));
  }

  void Finish() {
    const std::string covered = StrCat("All ", checkpoint_.size, " entries that the checkpoint covers are as they were signed");
    const std::string beyond =
        report_->beyond_checkpoint == 0
            ? std::string()
            : StrCat("; ", report_->beyond_checkpoint, " newer ones are well-formed and await the next checkpoint");
    if (scan_.torn_bytes > 0) {
      return Conclude(Verdict::kTornTail,
                      StrCat(covered, beyond, ", but ", scan_.torn_bytes, " bytes behind them are no record: a write was cut ",
                             "short. The service sets them aside when it starts; a record that a stopped machine lost is ",
                             "within the stated bound."),
                      scan_.leaves.size());
    }
    Conclude(Verdict::kWhole, StrCat(covered, beyond, report_->key_pinned ? "." : ". No key was pinned: this shows that the "
                                     "folder agrees with itself, not whose it is."));
  }

  const std::string folder_;
  VerifyReport* const report_;
  NoteKey key_;
  Checkpoint checkpoint_;
  Scan scan_;
};

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWhole: return "whole";
    case Verdict::kTornTail: return "torn_tail";
    case Verdict::kEdited: return "edited";
    case Verdict::kTruncated: return "truncated";
    case Verdict::kForked: return "forked";
    case Verdict::kBadSignature: return "bad_signature";
    case Verdict::kUnreadable: return "unreadable";
  }
  return "unreadable";
}

VerifyReport Verify(const std::string& folder, std::string_view pinned_key, std::string_view pinned_checkpoint) {
  // A running ledger may be seen in the middle of a write; looked at again, its tail is whole or really torn.
  constexpr int kLooks = 3;
  VerifyReport report;
  for (int look = 0; look < kLooks; ++look) {
    report = {};
    Verification(folder, &report).Run(pinned_key, pinned_checkpoint);
    if (report.verdict != Verdict::kTornTail) break;
  }
  return report;
}

}  // namespace credbroker::audit
