#include "edge/open_intents.h"

#include "base/macros.h"
#include "model/record.h"

namespace credbroker::edge {
namespace {

model::Record OutcomeOf(const audit::OpenIntent& intent) {
  model::Record record;
  record.kind = model::RecordKind::kOutcome;
  record.outcome = "unknown";
  record.request_id = intent.request_id;
  record.intent = static_cast<int64_t>(intent.index);
  record.detail = "the edge stopped before the outcome was known";
  return record;
}

}  // namespace

absl::Status CloseOpenIntents(audit::Ledger& ledger, const base::Clock& clock) {
  for (const audit::OpenIntent& intent : ledger.open_intents()) {
    model::Record record = OutcomeOf(intent);
    record.time = clock.Now();
    RETURN_IF_ERROR(ledger.Append(record, nullptr), "closing an open intent");
  }
  return absl::OkStatus();
}

}  // namespace credbroker::edge
