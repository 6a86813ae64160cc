#include "audit/outcomes.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "audit/intents.h"
#include "audit/reader.h"

namespace credbroker::audit {
namespace {

using Json = nlohmann::json;

// A line out of a file is not to be trusted: `discarded` for what is no JSON.
Json Parse(std::string_view line) { return Json::parse(line.begin(), line.end(), nullptr, false); }

bool SameRequest(const Json& a, const Json& b) {
  return a.is_object() && b.is_object() && a.contains("request_id") && a["request_id"] == b.value("request_id", Json());
}

}  // namespace

std::string JoinOutcome(std::string_view outcome, std::string_view intent) {
  const Json own = Parse(outcome);
  Json joined = Parse(intent);
  if (!SameRequest(own, joined) || joined.value("kind", Json()) != "intent") return std::string(outcome);
  joined.update(own);
  return joined.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Outcomes::Join(uint64_t index, std::string_view line) {
  if (PlainMember(line, "kind") == "intent") {
    intents_.insert_or_assign(index, std::string(line));
    order_.push_back(index);
    if (order_.size() > kRemembered) {
      intents_.erase(order_.front());
      order_.pop_front();
    }
  }
  const std::optional<uint64_t> wanted = IntentOf(line);
  if (!wanted || *wanted >= index) return std::string(line);
  if (const auto known = intents_.find(*wanted); known != intents_.end()) return JoinOutcome(line, known->second);
  const absl::StatusOr<std::string> intent = ReadEntry(folder_, *wanted);
  return intent.ok() ? JoinOutcome(line, *intent) : std::string(line);
}

}  // namespace credbroker::audit
