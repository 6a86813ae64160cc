#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "audit/chain.h"
#include "audit/ledger.h"
#include "audit/note.h"
#include "audit/segments.h"

namespace credbroker::audit {

// The state of a ledger folder after a start, mended.
struct Recovered {
  Chain chain;
  Border border;
  LedgerRepair repair;
};

// Checks the entries against the last checkpoint, takes over whole entries behind it, and sets aside what stands behind
// the last good one. Fails kLedgerTampered when neither tiles nor entries have the checkpoint's root, kLedgerTruncated
// when covered entries are missing, kFileUnreadable, kFileUnwritable, kDiskFull. Changes nothing when it fails.
absl::StatusOr<Recovered> Recover(const std::string& folder, const Checkpoint& checkpoint);

}  // namespace credbroker::audit
