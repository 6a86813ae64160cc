#include "evidence/changes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/macros.h"
#include "evidence/answers.h"

namespace credbroker::evidence {
namespace {

constexpr std::size_t kMaxPack = 8 << 20;

absl::StatusOr<Json> Parse(std::string_view text) {
  const absl::Status bad = base::Error(base::ErrorCode::kBadArgument, "no evidence: give what `evidence answers --format json` printed");
  if (text.size() > kMaxPack) return bad;
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("schema", "") != "credbroker/evidence/v1" || !json["answers"].is_array()) return bad;
  for (const Json& answer : json["answers"]) {
    for (const char* name : {"id", "group", "question", "value"}) {
      if (!answer.is_object() || !answer.contains(name) || !answer[name].is_string()) return bad;
    }
  }
  return json;
}

// Which of the three tagged groups an answer belongs to.
std::string Material(const Json& answer) {
  const std::string id = answer["id"], group = answer["group"];
  if (group == "isolation") return "isolation";
  if (id == "S20" || id == "S21" || id == "S35") return "retention";
  return group == "network" ? "network defaults" : "";
}

}  // namespace

absl::StatusOr<std::vector<Change>> Compare(std::string_view before, std::string_view after) {
  ASSIGN_OR_RETURN(const Json old_pack, Parse(before));
  ASSIGN_OR_RETURN(const Json new_pack, Parse(after));
  std::vector<Change> changes;
  for (const char* name : {"version", "policy_version", "config_digest"}) {
    const std::string was = old_pack.value(name, Json()).dump(), is = new_pack.value(name, Json()).dump();
    if (was != is) changes.push_back({name, "", name, was, is});
  }
  std::map<std::string, Json> known;
  for (const Json& answer : old_pack["answers"]) known[answer["id"]] = answer;
  for (const Json& answer : new_pack["answers"]) {
    const auto found = known.find(answer["id"]);
    const std::string was = found == known.end() ? "" : found->second["value"];
    const std::string is = answer["value"];
    if (was != is) changes.push_back({answer["id"], Material(answer), answer["question"], was, is});
    if (found != known.end()) known.erase(found);
  }
  for (const auto& [id, answer] : known) changes.push_back({id, Material(answer), answer["question"], answer["value"], ""});
  std::stable_partition(changes.begin(), changes.end(), [](const Change& change) { return !change.material.empty(); });
  return changes;
}

}  // namespace credbroker::evidence
