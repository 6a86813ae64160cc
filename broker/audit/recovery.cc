#include "audit/recovery.h"

#include "audit/canonical.h"
#include "audit/reader.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

absl::Status Truncated(uint64_t found, uint64_t covered) {
  return base::Error(base::ErrorCode::kLedgerTruncated,
                     base::StrCat("the checkpoint covers ", covered, " entries, ", found, " are there"));
}

absl::StatusOr<Chain> Rebuild(const std::string& folder, const Checkpoint& checkpoint) {
  Chain chain(folder);
  RETURN_IF_ERROR(ReadEntries(folder, Direction::kOldestFirst, 0, [&](uint64_t, std::string_view line) {
    if (chain.size() < checkpoint.size) chain.Append(LeafHash(line));
    return chain.size() < checkpoint.size;
  }));
  if (chain.size() < checkpoint.size) return Truncated(chain.size(), checkpoint.size);
  if (chain.Root() == checkpoint.root) return chain;
  return base::Error(base::ErrorCode::kLedgerTampered, "the entries do not have the checkpoint's root");
}

// The last segment that begins at or before `index`.
const SegmentFile* SegmentOf(const std::vector<SegmentFile>& segments, uint64_t index) {
  const SegmentFile* found = nullptr;
  for (const SegmentFile& segment : segments) {
    if (segment.first_index <= index) found = &segment;
  }
  return found;
}

// Walks from the segment that holds the checkpoint's end to the last good line; feeds the chain what is not covered.
absl::Status WalkTail(const std::vector<SegmentFile>& segments, uint64_t covered, Chain* chain, Border* border) {
  const SegmentFile* segment = SegmentOf(segments, covered);
  if (segment == nullptr) return covered == 0 ? absl::OkStatus() : Truncated(0, covered);
  const SegmentFile* const end = segments.data() + segments.size();
  uint64_t index = segment->first_index;
  bool good = true;
  for (; segment < end && good && segment->first_index == index; ++segment) {
    *border = {index, 0};
    ASSIGN_OR_RETURN(const ScanEnd scanned, ScanLines(segment->path, 0, [&](std::string_view line, uint64_t offset) {
                       good = index < covered || IsCanonicalObject(line);
                       if (!good) return false;
                       if (index >= covered) chain->Append(LeafHash(line));
                       ++index;
                       border->offset = offset;
                       return true;
                     }));
    if (scanned.over_long || border->offset != segment->bytes) good = false;
  }
  return index < covered ? Truncated(index, covered) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<Recovered> Recover(const std::string& folder, const Checkpoint& checkpoint) {
  LedgerRepair repair;
  absl::StatusOr<Chain> chain = Chain::Load(folder, checkpoint.size);
  if (!chain.ok() || chain->Root() != checkpoint.root) {
    chain = Rebuild(folder, checkpoint);
    RETURN_IF_ERROR(chain.status());
    repair.tiles_rebuilt = true;
  }
  Border border;
  ASSIGN_OR_RETURN(const std::vector<SegmentFile> segments, ListSegments(folder));
  RETURN_IF_ERROR(WalkTail(segments, checkpoint.size, &*chain, &border));
  repair.beyond_checkpoint = chain->size() - checkpoint.size;
  ASSIGN_OR_RETURN(repair.torn_file, SetAsideTail(folder, border, &repair.torn_bytes));
  return Recovered{*std::move(chain), border, std::move(repair)};
}

}  // namespace credbroker::audit
