#include "edge/open_intents.h"

#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "model/record.h"

namespace credbroker::edge {
namespace {

// The fields of an intent by which a reviewer finds its outcome. They were made safe when the intent was written.
model::Record OutcomeOf(const audit::OpenIntent& intent) {
  model::Record record;
  record.kind = model::RecordKind::kOutcome;
  record.outcome = "unknown";
  record.request_id = intent.request_id;
  record.detail = "the edge stopped before the outcome was known";
  const nlohmann::json line = nlohmann::json::parse(intent.line, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) return record;
  const auto copy = [&](const char* name, std::string* field) {
    const auto found = line.find(name);
    if (found != line.end() && found->is_string()) *field = found->get<std::string>();
  };
  copy("session", &record.session);
  copy("token_id", &record.token_id);
  copy("requester", &record.requester);
  copy("method", &record.method);
  copy("host", &record.host);
  copy("path", &record.path);
  copy("repository", &record.repository);
  copy("rule", &record.rule);
  copy("effect_class", &record.effect_class);
  copy("credential", &record.credential);
  copy("exception", &record.exception);
  const auto version = line.find("policy_version");
  if (version != line.end() && version->is_number_integer()) record.policy_version = version->get<int64_t>();
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
