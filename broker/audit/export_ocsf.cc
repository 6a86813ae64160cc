#include <nlohmann/json.hpp>
#include <set>

#include "audit/export_text.h"
#include "base/duration.h"
#include "base/str.h"

// OCSF 1.3.0, category Application Activity (6), class API Activity (6003).
namespace credbroker::audit {
namespace {

using Json = nlohmann::json;

constexpr int kCategory = 6;
constexpr int kClass = 6003;

struct Activity {
  int id;
  const char* name;
};
constexpr Activity kCreate{1, "Create"}, kRead{2, "Read"}, kUpdate{3, "Update"}, kDelete{4, "Delete"}, kOther{99, "Other"};

Activity ActivityOf(const Json& record) {
  const std::string kind = MemberText(record, "kind");
  const std::string action = MemberText(record, "action");
  const std::string effect = MemberText(record, "effect_class");
  const std::string method = MemberText(record, "method");
  if (kind == "issue" || action.ends_with(".open") || action.ends_with(".put")) return kCreate;
  if (kind == "revoke" || action.ends_with(".delete") || method == "DELETE") return kDelete;
  if (effect == "push" || method == "PUT" || method == "PATCH" || kind == "admin" || kind == "session") return kUpdate;
  if (effect == "fetch" || effect.starts_with("read") || method == "GET" || method == "HEAD") return kRead;
  if (method == "POST") return kCreate;
  return kOther;
}

// Informational, Medium, High.
std::pair<int, const char*> SeverityOf(std::string_view kind) {
  if (kind == "misuse") return {4, "High"};
  if (kind == "deny") return {3, "Medium"};
  return {1, "Informational"};
}

std::pair<int, const char*> StatusOf(const Json& record) {
  const std::string kind = MemberText(record, "kind");
  const std::string outcome = MemberText(record, "outcome");
  if (kind == "deny" || kind == "misuse" || outcome == "failed") return {2, "Failure"};
  if (outcome == "unknown" || kind == "intent" || kind == "unreadable") return {0, "Unknown"};
  return {1, "Success"};
}

// Members that are put somewhere by name; the others go into `unmapped`.
class Taken {
 public:
  explicit Taken(const Json& record) : record_(record) {}
  std::string Text(const char* name) {
    names_.insert(name);
    return SafeText(MemberText(record_, name), 4096);
  }
  // Sets `to[key]` unless the member is absent.
  void Move(const char* name, Json* to, const char* key) {
    if (std::string text = Text(name); !text.empty()) (*to)[key] = std::move(text);
  }
  void MoveNumber(const char* name, Json* to, const char* key) {
    names_.insert(name);
    const auto found = record_.find(name);
    if (found != record_.end() && found->is_number_integer()) (*to)[key] = *found;
  }
  Json Rest() const {
    Json rest = Json::object();
    for (const auto& [name, value] : record_.items()) {
      if (!names_.contains(name)) rest[name] = value;
    }
    return rest;
  }

 private:
  const Json& record_;
  std::set<std::string, std::less<>> names_;
};

Json Metadata(Taken& taken, const Json& record, std::string_view version) {
  Json metadata = {{"version", "1.3.0"},
                   {"profiles", {"security_control"}},
                   {"product", {{"name", "Credbroker"}, {"vendor_name", "Credbroker"}, {"version", std::string(version)}}}};
  const std::string id = taken.Text("id");
  if (!id.empty()) {
    metadata["uid"] = id;
    metadata["log_name"] = id.substr(0, id.rfind('-'));
  }
  taken.Move("request_id", &metadata, "correlation_uid");
  metadata["original_time"] = SafeText(MemberText(record, "time"), 64);
  return metadata;
}

Json Actor(Taken& taken) {
  Json user = Json::object();
  taken.Move("actor", &user, "name");
  taken.Move("requester", &user, "name");
  if (user.empty()) user = {{"name", "unknown"}, {"type_id", 0}};
  Json actor = {{"user", user}};
  Json session = Json::object();
  taken.Move("session", &session, "uid");
  if (!session.empty()) actor["session"] = session;
  return actor;
}

Json Source(Taken& taken) {
  const std::string peer = taken.Text("peer");
  const std::size_t colon = peer.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !base::ParseInt(std::string_view(peer).substr(colon + 1), &port)) {
    return {{"name", peer.empty() ? "local" : peer}};
  }
  std::string ip = peer.substr(0, colon);
  if (ip.starts_with('[') && ip.ends_with(']')) ip = ip.substr(1, ip.size() - 2);
  return {{"ip", ip}, {"port", port}};
}

Json Api(Taken& taken, const Json& record) {
  std::string operation = taken.Text("action");
  if (operation.empty()) {
    operation = SafeText(base::StrCat(MemberText(record, "method"), " ", MemberText(record, "effect_class")), 256);
  }
  if (operation == " ") operation = MemberText(record, "kind");
  Json api = {{"operation", SafeText(operation, 256)}};
  if (std::string service = taken.Text("service"); !service.empty()) api["service"] = {{"name", service}};
  if (std::string request = MemberText(record, "request_id"); !request.empty()) {
    api["request"] = {{"uid", SafeText(request, 256)}};
  }
  return api;
}

void Request(Taken& taken, Json* event) {
  Json url = Json::object();
  taken.Move("scheme", &url, "scheme");
  taken.Move("host", &url, "hostname");
  taken.MoveNumber("port", &url, "port");
  taken.Move("path", &url, "path");
  Json request = Json::object();
  taken.Move("method", &request, "http_method");
  if (url.contains("hostname")) {
    (*event)["dst_endpoint"] = {{"hostname", url["hostname"]}};
    request["url"] = url;
  }
  if (!request.empty()) (*event)["http_request"] = request;
  Json response = Json::object();
  taken.MoveNumber("status", &response, "code");
  if (!response.empty()) (*event)["http_response"] = response;
}

void Judged(Taken& taken, const std::string& kind, const Json& record, Json* event) {
  const bool refused = kind == "deny" || kind == "misuse";
  (*event)["action_id"] = refused ? 2 : 1;
  (*event)["action"] = refused ? "Denied" : "Allowed";
  (*event)["disposition_id"] = refused ? 2 : 1;
  (*event)["disposition"] = refused ? "Blocked" : "Allowed";
  if (std::string rule = taken.Text("rule"); !rule.empty()) {
    (*event)["policy"] = {{"name", rule}, {"version", MemberText(record, "policy_version")}};
  }
}

}  // namespace

std::string FormatOcsf(const Json& record, std::string_view version) {
  Taken taken(record);
  const std::string kind = MemberText(record, "kind");
  const Activity activity = ActivityOf(record);
  const auto [severity_id, severity] = SeverityOf(kind);
  const auto [status_id, status] = StatusOf(record);
  const absl::Time time = base::ParseTime(taken.Text("time")).value_or(absl::UnixEpoch());
  Json event = {{"category_uid", kCategory},       {"category_name", "Application Activity"},
                {"class_uid", kClass},             {"class_name", "API Activity"},
                {"activity_id", activity.id},      {"activity_name", activity.name},
                {"type_uid", kClass * 100 + activity.id}, {"type_name", base::StrCat("API Activity: ", activity.name)},
                {"severity_id", severity_id},      {"severity", severity},
                {"status_id", status_id},          {"status", status},
                {"time", absl::ToUnixMillis(time)}, {"message", SafeText(EventWords(record), 1024)}};
  event["metadata"] = Metadata(taken, record, version);
  event["actor"] = Actor(taken);
  event["src_endpoint"] = Source(taken);
  event["api"] = Api(taken, record);
  taken.Move("code", &event, "status_code");
  taken.Move("detail", &event, "status_detail");
  Request(taken, &event);
  Judged(taken, kind, record, &event);
  if (std::string repository = taken.Text("repository"); !repository.empty()) {
    event["resources"] = Json::array({{{"name", repository}, {"type", "repository"}}});
  }
  event["unmapped"] = taken.Rest();
  return event.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace credbroker::audit
