#pragma once

#include "absl/status/status.h"
#include "audit/ledger.h"
#include "base/clock.h"

namespace credbroker::edge {

// Gives every intent that was open when the ledger was opened its outcome: `unknown`, since the process that knew it has
// died. Fails kLedgerUnavailable.
absl::Status CloseOpenIntents(audit::Ledger& ledger, const base::Clock& clock);

}  // namespace credbroker::edge
