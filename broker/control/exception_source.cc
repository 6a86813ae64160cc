#include "control/exception_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "policy/rule_set.h"

namespace credbroker::control {
namespace {

using base::Error;
using base::ErrorCode;
using Json = nlohmann::ordered_json;

// JSON is YAML. A document of ours, and so well-formed.
Json ReadAdded(const policy::PolicySource& source) {
  for (const policy::SourceFile& document : source.documents) {
    if (document.name != kAddedDocument) continue;
    Json json = Json::parse(document.text, nullptr, false);
    if (json.is_object() && json.value("exceptions", Json()).is_array() && json.value("exceptions_off", Json()).is_array()) return json;
  }
  return {{"apiVersion", "credbroker/v1"}, {"exceptions", Json::array()}, {"exceptions_off", Json::array()}};
}

void WriteAdded(const Json& added, policy::PolicySource* source) {
  std::erase_if(source->documents, [](const policy::SourceFile& document) { return document.name == kAddedDocument; });
  if (added["exceptions"].empty() && added["exceptions_off"].empty()) return;
  source->documents.push_back({std::string(kAddedDocument), added.dump(2) + "\n"});
}

absl::Status CheckWish(const ExceptionWish& wish) {
  for (const auto& [name, text] : {std::pair("id", &wish.id), {"kind", &wish.kind}, {"reason", &wish.reason}, {"owner", &wish.owner},
                                   {"approved_by", &wish.approved_by}, {"expires", &wish.expires}}) {
    if (text->empty()) return Error(ErrorCode::kExceptionInvalid, base::StrCat(name, " is missing"));
  }
  if (wish.hosts.empty()) return Error(ErrorCode::kExceptionInvalid, "hosts are missing");
  if (base::EqualsIgnoreCase(wish.owner, wish.approved_by)) return Error(ErrorCode::kExceptionInvalid, "the owner cannot approve it");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<policy::PolicySource> CarryAdded(const policy::PolicySource& current, policy::PolicySource next) {
  std::erase_if(next.documents, [](const policy::SourceFile& document) { return document.name == kAddedDocument; });
  Json added = ReadAdded(current);
  if (added["exceptions"].empty() && added["exceptions_off"].empty()) return next;
  ASSIGN_OR_RETURN(const auto rules, policy::RuleSet::Load(next, 1, {}));
  Json kept = Json::array();
  for (const Json& exception : added["exceptions"]) {
    if (!rules->exceptions().contains(exception.value("id", ""))) kept.push_back(exception);
  }
  added["exceptions"] = std::move(kept);
  WriteAdded(added, &next);
  return next;
}

absl::StatusOr<policy::PolicySource> WithException(policy::PolicySource source, const ExceptionWish& wish) {
  RETURN_IF_ERROR(CheckWish(wish));
  Json exception = {{"id", wish.id},       {"kind", wish.kind},               {"hosts", wish.hosts},    {"reason", wish.reason},
                    {"owner", wish.owner}, {"approved_by", wish.approved_by}, {"expires", wish.expires}};
  if (!wish.addresses.empty()) exception["addresses"] = wish.addresses;
  if (!wish.scopes.empty()) exception["scopes"] = wish.scopes;
  Json added = ReadAdded(source);
  added["exceptions"].push_back(std::move(exception));
  WriteAdded(added, &source);
  return source;
}

policy::PolicySource WithExceptionOff(policy::PolicySource source, std::string_view id, bool off) {
  Json added = ReadAdded(source);
  Json ids = Json::array();
  for (const Json& one : added["exceptions_off"]) {
    if (one.is_string() && one.get<std::string>() != id) ids.push_back(one);
  }
  if (off) ids.push_back(std::string(id));
  added["exceptions_off"] = std::move(ids);
  WriteAdded(added, &source);
  return source;
}

}  // namespace credbroker::control
