#include "wire/lfs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "nlohmann/json.hpp"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using Json = nlohmann::json;

constexpr std::size_t kMaxLfsObjects = 1000;
constexpr int kMaxLevels = 8;  // of arrays and objects
constexpr uint64_t kMaxExact = (uint64_t{1} << 53) - 1;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadGitRequest, why); }
absl::Status BadReply(std::string_view why) { return base::Error(ErrorCode::kUpstreamMalformed, why); }

// A value that every reader reads alike, or none.
std::optional<Json> ParseStrict(std::string_view text) {
  bool strict = true;
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    strict = strict && depth <= kMaxLevels;
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::key) strict = keys.back().insert(parsed.get<std::string>()).second && strict;
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    return strict;
  };
  Json value = Json::parse(text, watch, false);
  if (!strict || value.is_discarded()) return std::nullopt;
  return value;
}

// A member that is absent or null leaves `out` as it is; one of another type is a fault.
bool TakeText(const Json& object, const char* name, std::string* out) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return true;
  if (!found->is_string()) return false;
  *out = found->get<std::string>();
  return true;
}

bool TakeCount(const Json& object, const char* name, uint64_t* out) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return true;
  if (!found->is_number_unsigned() || found->get<uint64_t>() > kMaxExact) return false;
  *out = found->get<uint64_t>();
  return true;
}

bool TakeRef(const Json& object, std::string* out) {
  const auto found = object.find("ref");
  if (found == object.end() || found->is_null()) return true;
  return found->is_object() && TakeText(*found, "name", out);
}

bool IsOid(std::string_view oid) {
  return oid.size() == 64 && std::all_of(oid.begin(), oid.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool TakeObject(const Json& value, LfsObject* out) {
  return value.is_object() && value.contains("size") && TakeText(value, "oid", &out->oid) && IsOid(out->oid) && TakeCount(value, "size", &out->size);
}

bool IsBasic(const Json& transfers) {
  return transfers.is_null() || (transfers.is_array() && std::find(transfers.begin(), transfers.end(), "basic") != transfers.end());
}

std::string_view KindName(LfsAction::Kind kind) {
  switch (kind) {
    case LfsAction::Kind::kUpload: return "upload";
    case LfsAction::Kind::kDownload: return "download";
    case LfsAction::Kind::kVerify: return "verify";
  }
  return "download";
}

bool TakeAction(const Json& value, absl::Time now, LfsAction* out) {
  if (!value.is_object() || !TakeText(value, "href", &out->href) || out->href.empty()) return false;
  const auto header = value.find("header");
  if (header != value.end() && !header->is_null()) {
    if (!header->is_object()) return false;
    for (const auto& [name, text] : header->items()) {
      if (!text.is_string()) return false;
      out->header.emplace_back(name, text.get<std::string>());
    }
  }
  const auto seconds = value.find("expires_in");
  if (seconds != value.end() && seconds->is_number_integer() && seconds->get<int64_t>() > 0) out->life = absl::Seconds(seconds->get<int64_t>());
  std::string at;
  absl::Time end;
  if (!TakeText(value, "expires_at", &at)) return false;
  if (absl::ParseTime(absl::RFC3339_full, at, &end, nullptr)) out->life = std::min(out->life, end - now);
  return true;
}

// The error of one object, from the host or from us.
Json ErrorOf(int64_t code, std::string_view message) { return {{"code", code}, {"message", base::EscapeText(message, 500)}}; }

}  // namespace

absl::StatusOr<LfsBatch> ReadLfsBatch(std::string_view body) {
  const auto value = ParseStrict(body);
  LfsBatch out;
  std::string operation, algorithm = "sha256";
  if (!value || !value->is_object() || !TakeText(*value, "operation", &operation) || !TakeText(*value, "hash_algo", &algorithm)) return Bad("LFS batch");
  if ((operation != "upload" && operation != "download") || algorithm != "sha256") return Bad("LFS operation");
  if (!TakeRef(*value, &out.ref) || !IsBasic(value->value("transfers", Json()))) return Bad("LFS ref or transfers");
  out.upload = operation == "upload";
  const auto objects = value->find("objects");
  if (objects == value->end() || !objects->is_array() || objects->size() > kMaxLfsObjects) return Bad("LFS objects");
  for (const Json& one : *objects) {
    if (!TakeObject(one, &out.objects.emplace_back())) return Bad("LFS object");
  }
  return out;
}

std::string WriteLfsBatch(const LfsBatch& batch) {
  Json out = {{"operation", batch.upload ? "upload" : "download"}, {"transfers", {"basic"}}, {"hash_algo", "sha256"}, {"objects", Json::array()}};
  if (!batch.ref.empty()) out["ref"] = {{"name", batch.ref}};
  for (const LfsObject& object : batch.objects) out["objects"].push_back({{"oid", object.oid}, {"size", object.size}});
  return out.dump();
}

absl::StatusOr<LfsLock> ReadLfsLock(std::string_view body, LfsLockCall call) {
  const auto value = ParseStrict(body);
  LfsLock out;
  if (!value || !value->is_object() || !TakeRef(*value, &out.ref)) return Bad("LFS lock");
  if (call == LfsLockCall::kCreate && (!TakeText(*value, "path", &out.path) || out.path.empty())) return Bad("LFS lock's path");
  if (call == LfsLockCall::kVerify && (!TakeText(*value, "cursor", &out.cursor) || !TakeCount(*value, "limit", &out.limit))) return Bad("LFS verify");
  const Json force = value->value("force", Json(false));
  if (call == LfsLockCall::kUnlock && !force.is_boolean()) return Bad("LFS unlock");
  out.force = call == LfsLockCall::kUnlock && force.get<bool>();
  return out;
}

std::string WriteLfsLock(const LfsLock& lock, LfsLockCall call) {
  Json out = Json::object();
  if (!lock.ref.empty()) out["ref"] = {{"name", lock.ref}};
  if (call == LfsLockCall::kCreate) out["path"] = lock.path;
  if (call == LfsLockCall::kVerify && !lock.cursor.empty()) out["cursor"] = lock.cursor;
  if (call == LfsLockCall::kVerify && lock.limit != 0) out["limit"] = lock.limit;
  if (call == LfsLockCall::kUnlock) out["force"] = lock.force;
  return out.dump();
}

absl::StatusOr<std::string> RewriteLfsReply(std::string_view body, const LfsBatch& asked, absl::Time now,
                                            const std::function<absl::StatusOr<LfsLink>(const LfsObject&, const LfsAction&)>& link) {
  const auto value = ParseStrict(body);
  std::string transfer = "basic";
  if (!value || !value->is_object() || !TakeText(*value, "transfer", &transfer)) return BadReply("LFS answer");
  if (!transfer.empty() && transfer != "basic") return BadReply("an LFS transfer that was not asked for");
  std::map<std::string, uint64_t> expected;
  for (const LfsObject& object : asked.objects) expected.emplace(object.oid, object.size);
  Json out = {{"transfer", "basic"}, {"hash_algo", "sha256"}, {"objects", Json::array()}};
  const auto objects = value->find("objects");
  if (objects == value->end() || !objects->is_array()) return BadReply("LFS answer without objects");
  for (const Json& one : *objects) {
    LfsObject object;
    if (!TakeObject(one, &object) || expected.erase(object.oid) == 0) return BadReply("an LFS object that was not asked for");
    Json row = {{"oid", object.oid}, {"size", object.size}};
    const Json actions = one.value("actions", Json());
    for (const LfsAction::Kind kind : {LfsAction::Kind::kUpload, LfsAction::Kind::kDownload, LfsAction::Kind::kVerify}) {
      const std::string name(KindName(kind));
      if (!actions.is_object() || !actions.contains(name) || actions[name].is_null()) continue;
      LfsAction action;
      action.kind = kind;
      if ((kind == LfsAction::Kind::kDownload) == asked.upload || !TakeAction(actions[name], now, &action)) return BadReply("LFS action");
      const auto made = link(object, action);
      if (!made.ok()) {
        row.erase("actions");
        row["error"] = ErrorOf(403, base::StrCat("credbroker: ", base::View(made.status().message())));
        break;
      }
      row["actions"][name] = {{"href", made->href}, {"expires_in", absl::ToInt64Seconds(made->life)}};
    }
    const Json error = one.value("error", Json());
    if (error.is_object()) {
      row.erase("actions");
      row["error"] = ErrorOf(error.value("code", 500), error.contains("message") && error["message"].is_string() ? error["message"].get<std::string>() : "the host's error");
    }
    out["objects"].push_back(std::move(row));
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string LfsRefusal(std::string_view message, std::string_view error_json) {
  Json out = Json::parse(error_json, nullptr, false);
  if (!out.is_object()) out = Json::object();
  out["message"] = message;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace credbroker::wire
