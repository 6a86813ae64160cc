#include "client/audit_table.h"

#include <array>

#include "base/str.h"
#include "base/text.h"
#include "client/command.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr std::array kPromised = {"id",        "time",       "kind",      "request_id", "session",       "token_id",
                                  "requester", "method",     "host",      "path",       "refs",          "effect_class",
                                  "rule",      "credential", "exception", "status",     "policy_version"};

constexpr std::size_t kDecidedWidth = 26;

std::string Who(const Json& record) {
  for (const char* name : {"session", "actor", "requester", "peer"}) {
    if (std::string text = TextCell(record, name); !text.empty()) return text;
  }
  return {};
}

// The end of a rule tells more than its beginning, which is the scope.
std::string LastOf(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : base::StrCat("..", text.substr(text.size() - width + 2));
}

// The request, short for git; the action for what no request asked.
std::string What(const Json& record) {
  std::string text = TextCell(record, "action");
  if (!text.empty()) return base::StrCat(text, " ", TextCell(record, "subject"));
  const std::string repository = TextCell(record, "repository");
  const std::string path = TextCell(record, "path");
  const bool git = !repository.empty() && base::AsciiLower(path).starts_with(base::AsciiLower("/" + repository));
  text = base::StrCat(TextCell(record, "method"), " ", git ? path.substr(1) : TextCell(record, "host") + path);
  for (const Json& ref : record["refs"]) {
    const std::string name = ref.is_object() ? TextCell(ref, "ref") : ref.is_string() ? ref.get<std::string>() : "";
    base::StrAppend(&text, " ", name);
  }
  if (text != " ") return text;
  return TextCell(record, "detail");
}

std::string Decided(const Json& record) {
  const std::string code = TextCell(record, "code");
  const std::string exception = TextCell(record, "exception");
  std::string text = TextCell(record, "rule");
  if (!exception.empty()) text = base::StrCat("exception ", exception, " ", text);
  if (!code.empty()) return base::StrCat(code, text.empty() ? "" : " ", text);
  return text.empty() ? TextCell(record, "outcome") : LastOf(text, kDecidedWidth);
}

}  // namespace

Json RecordJson(std::string_view line) {
  const Json record = Json::parse(line, nullptr, false);
  if (!record.is_object()) return Json{{"unreadable", std::string(line)}};
  Json ordered = Json::object();
  for (const char* name : kPromised) ordered[name] = record.contains(name) ? record[name] : Json();
  if (!ordered["refs"].is_array()) ordered["refs"] = Json::array();
  for (const auto& [name, value] : record.items()) {
    if (!ordered.contains(name)) ordered[name] = value;
  }
  return ordered;
}

Table RecordTable() {
  return Table({{"TIME", 20}, {"KIND", 7}, {"WHO", 18}, {"WHAT", 35}, {"DECIDED BY", kDecidedWidth}, {"ST", 4}});
}

std::vector<std::string> RecordRow(const Json& record) {
  if (record.contains("unreadable")) return {"", "?", "", TextCell(record, "unreadable")};
  const std::string status = TextCell(record, "status");
  return {TimeCell(record["time"]), TextCell(record, "kind"),     Who(record), What(record),
          Decided(record),          status.empty() ? "-" : status};
}

}  // namespace credbroker::client
