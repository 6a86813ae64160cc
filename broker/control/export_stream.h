#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "audit/export_cursor.h"
#include "audit/outcomes.h"
#include "audit/query.h"
#include "audit/reader.h"
#include "control/archives.h"

namespace credbroker::control {

enum class Follow { kNo, kYes };

// What one export wants.
struct ExportOrder {
  audit::Filter filter;  // its limit does not count
  std::string cursor;    // empty: from the first record on
  Follow follow = Follow::kNo;
  uint64_t max_records = 0;  // 0: no limit
};

struct ExportEvent {
  std::string json;     // a record joined with its intent; empty when only the cursor moved
  std::string cursor;   // behind it
  uint64_t behind = 0;  // entries not looked at yet
};

// Reads several ledgers forward as one list by time. Memory: kBuffered lines a ledger and the intents that outcomes may
// still need. Not thread-safe.
class ExportStream {
 public:
  explicit ExportStream(audit::Filter filter) : filter_(std::move(filter)) {}

  // Fails kBadArgument for a text that is no cursor, kRecordNotFound for one that names a ledger that is not there,
  // kLedgerTruncated for one behind a ledger's end: entries that were exported once are gone.
  absl::Status Start(const std::vector<LedgerPlace>& places, const std::string& cursor);
  // Goes on with what arrived meanwhile, in new ledgers too.
  absl::Status Refresh(const std::vector<LedgerPlace>& places);
  // The next wanted record; or a cursor alone after kStride records that were not wanted, or at the end.
  absl::StatusOr<ExportEvent> Next();
  // True when the last Next found nothing more up to what Start or Refresh saw.
  bool at_end() const { return at_end_; }

  static constexpr std::size_t kBuffered = 64;
  static constexpr int kStride = 1000;

 private:
  struct Line {
    uint64_t index;
    absl::Time time;
    std::string text;
  };
  struct Source {
    Source(const std::string& folder, uint64_t from) : follower(folder, from), outcomes(folder) {}
    audit::Follower follower;
    audit::Outcomes outcomes;
    std::deque<Line> lines;
    absl::Time newest = absl::InfinitePast();
    uint64_t entries = 0;  // as far as this round goes
  };

  absl::Status Fill(Source& source);
  ExportEvent Event(std::string json) const;

  const audit::Filter filter_;
  std::map<std::string, Source> sources_;
  audit::ExportCursor cursor_;
  bool at_end_ = false;
};

}  // namespace credbroker::control
