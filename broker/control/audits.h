#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "audit/ledger.h"
#include "audit/query.h"
#include "audit/verify.h"
#include "control/archives.h"
#include "control/edges.h"
#include "control/export_stream.h"

namespace credbroker::control {

struct ListedRecords {
  std::vector<std::string> lines;  // JSON, in ledger order; an outcome with the fields of its intent
  bool edges_current = false;      // false: an edge is gone or did not ship in time, newer records may be missing
};

struct LedgerCheckpoint {
  LedgerPlace place;
  std::string note;  // C2SP signed note
};

struct LedgerVerdict {
  LedgerPlace place;
  audit::VerifyReport report;
};

// All ledgers as one list (S42): the broker's own and the archives of the edges'. Thread-safe.
class Audits {
 public:
  Audits(audit::Ledger& ledger, const Archives& archives, EdgeHub& hub)
      : ledger_(ledger), archives_(archives), hub_(hub) {}

  // The newest records that match, oldest first. Asks edges to ship first and waits kShipWait at most. Fails as
  // audit::Query.
  absl::StatusOr<ListedRecords> List(const audit::Filter& filter);

  // The same, then records as they arrive, until `cancelled` or `emit` refuses. Fails kOverloaded beyond kMaxTails.
  absl::Status Tail(const audit::Filter& filter, const std::function<bool()>& cancelled,
                    const std::function<bool(std::string_view line)>& emit);

  // Records from the order's cursor on, until the ledgers' present ends, `max_records`, `cancelled` or a refusing `emit`.
  // Fails kOverloaded beyond kMaxTails, and as ExportStream.
  absl::Status Export(const ExportOrder& order, const std::function<bool()>& cancelled,
                      const std::function<bool(const ExportEvent&)>& emit);

  // One record by its id, or every record of a request. Fails kRecordNotFound.
  absl::StatusOr<std::vector<std::string>> Get(const std::string& id);

  // Checkpoints that cover everything that is there now.
  absl::StatusOr<std::vector<LedgerCheckpoint>> Checkpoints();
  // Checks every ledger under the key that was pinned for it.
  std::vector<LedgerVerdict> Verify();

  static constexpr absl::Duration kShipWait = absl::Milliseconds(500);
  static constexpr int kMaxTails = 8;

 private:
  std::vector<LedgerPlace> Places() const;
  std::vector<std::string> Folders() const;

  audit::Ledger& ledger_;
  const Archives& archives_;
  EdgeHub& hub_;
  std::atomic<int> tails_{0};
};

}  // namespace credbroker::control
