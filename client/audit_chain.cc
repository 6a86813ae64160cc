#include "client/audit_chain.h"

#include "base/macros.h"
#include "base/str.h"
#include "client/audit_table.h"
#include "client/broker.h"
#include "client/command.h"
#include "client/record_words.h"
#include "client/table.h"
#include "credbroker/v1/audit.pb.h"
#include "credbroker/v1/policy.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr int kMaxParents = 16;
constexpr int kMaxRecords = 1000;
constexpr std::size_t kWordsWidth = 600;

Json Listed(Broker& broker, v1::ListRecordsRequest request) {
  request.set_limit(kMaxRecords);
  v1::ListRecordsReply reply;
  Json records = Json::array();
  // A part that may not be seen is left out: the rest of the chain is still worth reading.
  if (!broker.ListRecords(request, &reply).ok()) return records;
  for (const std::string& line : reply.json()) records.push_back(RecordJson(line));
  return records;
}

Json TokenRecords(Broker& broker, std::string token) {
  Json chain = Json::array();
  for (int i = 0; i < kMaxParents && !token.empty(); ++i) {
    v1::ListRecordsRequest request;
    request.set_kind("issue");
    request.set_token_id(token);
    const Json issued = Listed(broker, request);
    if (issued.empty()) break;
    chain.insert(chain.begin(), issued[0]);
    token = TextCell(issued[0], "parent_token_id");
  }
  return chain;
}

Json SessionRecords(Broker& broker, const std::string& session) {
  if (session.empty()) return Json::array();
  v1::ListRecordsRequest request;
  request.set_kind("session");
  request.set_session(session);
  return Listed(broker, request);
}

Json PolicyRecord(Broker& broker, const Json& record) {
  const auto version = record.find("policy_version");
  if (version == record.end() || !version->is_number_integer() || *version <= 0) return nullptr;
  v1::ListRecordsRequest request;
  request.set_kind("admin");
  request.set_action("policy.apply");
  request.set_policy_version(version->get<int64_t>());
  const Json applied = Listed(broker, request);
  return applied.empty() ? Json() : applied.back();
}

Json ExceptionOf(Broker& broker, const std::string& id) {
  v1::ListExceptionsReply reply;
  if (id.empty() || !broker.ListExceptions({}, &reply).ok()) return nullptr;
  for (const auto& exception : reply.exceptions()) {
    if (exception.id() == id) return ToJson(exception);
  }
  return Json{{"id", id}, {"state", "not in the policy in force"}};
}

std::string ScopeOf(const std::string& rule) {
  const std::size_t slash = rule.find('/');
  return slash == std::string::npos ? std::string() : rule.substr(0, slash);
}

Json Summary(const Json& chain) {
  const Json& record = chain["record"];
  const Json& session = chain["session"];
  return {{"session", TextCell(record, "session")},
          {"requester", TextCell(record, "requester")},
          {"opened_by", session.empty() ? "" : TextCell(session[0], "actor")},
          {"token_id", TextCell(record, "token_id")},
          {"tokens", chain["tokens"].size()},
          {"scope", ScopeOf(TextCell(record, "rule"))},
          {"rule", TextCell(record, "rule")},
          {"policy_version", record.value("policy_version", Json())},
          {"policy_author", chain["policy"].is_object() ? TextCell(chain["policy"], "actor") : ""},
          {"credential", TextCell(record, "credential")},
          {"exception", TextCell(record, "exception")}};
}

void AddPart(const char* title, const Json& records, std::string* text) {
  base::StrAppend(text, "\n", title, "\n");
  if (records.empty()) base::StrAppend(text, "  none in the ledgers\n");
  for (const Json& record : records) {
    base::StrAppend(text, "  ", Cell(TextCell(record, "id"), 40), "  ");
    for (const std::string& words : RecordWords(record)) base::StrAppend(text, Cell(words, kWordsWidth), " ");
    base::StrAppend(text, "\n");
  }
}

}  // namespace

absl::StatusOr<Json> RecordChain(Broker& broker, const std::string& id) {
  v1::GetRecordRequest request;
  v1::GetRecordReply reply;
  request.set_id(id);
  RETURN_IF_ERROR(broker.GetRecord(request, &reply));
  Json chain = Json::object();
  chain["record"] = RecordJson(reply.json(0));
  const Json record = chain["record"];
  chain["request"] = Json::array();
  if (const std::string asked = TextCell(record, "request_id"); !asked.empty()) {
    v1::ListRecordsRequest same;
    same.set_request_id(asked);
    chain["request"] = Listed(broker, same);
  }
  chain["tokens"] = TokenRecords(broker, TextCell(record, "token_id"));
  chain["session"] = SessionRecords(broker, TextCell(record, "session"));
  chain["policy"] = PolicyRecord(broker, record);
  chain["exception"] = ExceptionOf(broker, TextCell(record, "exception"));
  chain["summary"] = Summary(chain);
  return chain;
}

std::string ChainText(const Json& chain) {
  std::string text;
  for (const std::string& words : RecordWords(chain["record"])) base::StrAppend(&text, Cell(words, kWordsWidth), "\n");
  AddPart("Request", chain["request"], &text);
  AddPart("Tokens, the first one first", chain["tokens"], &text);
  AddPart("Session", chain["session"], &text);
  AddPart("Policy", chain["policy"].is_object() ? Json::array({chain["policy"]}) : Json::array(), &text);
  if (chain["exception"].is_object()) {
    const Json& exception = chain["exception"];
    base::StrAppend(&text, "\nException\n  ", Cell(TextCell(exception, "id"), 40), "  ", Cell(TextCell(exception, "state"), 40),
                    ", owner ", Cell(TextCell(exception, "owner"), 80), ", until ", TimeCell(exception.value("expires", Json())),
                    "\n");
  }
  return text;
}

}  // namespace credbroker::client
