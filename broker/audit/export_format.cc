#include "audit/export_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "audit/export_text.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

namespace credbroker::audit {
namespace {

using base::StrAppend;
using base::StrCat;
using Json = nlohmann::json;

// Texts of one event are cut at the first of these with which the line fits.
constexpr std::size_t kCuts[] = {1024, 256, 64, 16};
constexpr std::size_t kUnreadableShown = 1024;

// Fields of a record have such names; others could only come from an archive that was tampered with.
bool IsFieldName(std::string_view name) {
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string Escaped(std::string_view text, std::string_view specials) {
  std::string out;
  for (const char c : text) {
    if (specials.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool IsPrintable(std::string_view text, std::size_t max) {
  return !text.empty() && text.size() <= max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

absl::StatusOr<absl::Time> TimeOf(const Json& record) { return base::ParseTime(MemberText(record, "time")); }

int SyslogSeverity(std::string_view kind) {
  if (kind == "misuse") return 2;  // critical
  if (kind == "deny") return 4;    // warning
  if (kind == "admin" || kind == "revoke") return 5;
  return 6;
}

int CefSeverity(std::string_view kind) {
  if (kind == "misuse") return 9;
  if (kind == "deny") return 6;
  if (kind == "admin" || kind == "revoke") return 4;
  return 2;
}

// RFC 5424: "<" PRI ">1" SP TIME SP HOST SP APP SP PROCID SP MSGID SP "[" SD-ID *(SP NAME "=" QUOTED) "]" SP MSG
std::string Syslog(const Json& record, const ExportOrigin& origin, std::size_t cut) {
  constexpr int kFacility = 13;
  const std::string kind = MemberText(record, "kind");
  const absl::StatusOr<absl::Time> time = TimeOf(record);
  std::string out = StrCat("<", kFacility * 8 + SyslogSeverity(kind), ">1 ", time.ok() ? base::TimeText(*time) : "-", " ",
                           IsPrintable(origin.host, 255) ? origin.host : "-", " credbroker - ",
                           IsFieldName(kind) ? kind : "-", " [credbroker@32473");
  for (const auto& [name, value] : record.items()) {
    const std::string text = ValueText(value);
    if (!IsFieldName(name) || text.empty()) continue;
    StrAppend(&out, " ", name, "=\"", Escaped(SafeText(text, cut), "\"\\]"), "\"");
  }
  StrAppend(&out, "] ", SafeText(EventWords(record), cut));
  return out;
}

struct CefField {
  const char* key;
  const char* name;
  const char* label = nullptr;
};

// The keys of the CEF dictionary; what it has no key for goes into the labelled ones.
constexpr CefField kCefFields[] = {
    {"externalId", "id"},          {"act", "action"},       {"suser", "requester"},
    {"suid", "token_id"},          {"requestMethod", "method"}, {"dhost", "host"},
    {"dpt", "port"},               {"request", "path"},     {"app", "channel"},
    {"reason", "code"},            {"outcome", "outcome"},  {"in", "bytes_up"},
    {"out", "bytes_down"},         {"cs1", "session", "session"}, {"cs2", "rule", "rule"},
    {"cs3", "credential", "credential"}, {"cs4", "exception", "exception"}, {"cs5", "effect_class", "effectClass"},
    {"cs6", "repository", "repository"}, {"cn1", "policy_version", "policyVersion"}, {"cn2", "status", "httpStatus"},
    {"fname", "refs"},             {"sproc", "label"},      {"cat", "kind"},
    {"flexString1", "request_id", "requestId"}, {"flexString2", "subject", "subject"},
};

// "CEF:0|vendor|product|version|signature|name|severity|" key=value *(SP key=value)
std::string Cef(const Json& record, const ExportOrigin& origin, std::size_t cut) {
  const std::string kind = MemberText(record, "kind");
  const auto header = [&](std::string_view text) { return Escaped(SafeText(text, std::min<std::size_t>(cut, 256)), "|\\"); };
  const std::string action = MemberText(record, "action");
  std::string out = StrCat("CEF:0|Credbroker|credbroker|", header(origin.version), "|",
                           header(action.empty() ? kind : action), "|", header(EventWords(record)), "|", CefSeverity(kind), "|");
  if (const auto time = TimeOf(record); time.ok()) StrAppend(&out, "rt=", absl::ToUnixMillis(*time));
  for (const CefField& field : kCefFields) {
    const std::string text = MemberText(record, field.name);
    if (text.empty()) continue;
    StrAppend(&out, " ", field.key, "=", Escaped(SafeText(text, cut), "=\\"));
    if (field.label != nullptr) StrAppend(&out, " ", field.key, "Label=", field.label);
  }
  return out;
}

using Formatter = std::string (*)(const Json&, const ExportOrigin&, std::size_t);

std::string Fitting(Formatter format, const Json& record, const ExportOrigin& origin) {
  std::string out;
  for (const std::size_t cut : kCuts) {
    out = format(record, origin, cut);
    if (out.size() <= kMaxEventBytes) return out;
  }
  out.resize(kMaxEventBytes);
  return out;
}

}  // namespace

absl::StatusOr<ExportFormat> ParseExportFormat(std::string_view text) {
  if (text == "jsonl") return ExportFormat::kJsonl;
  if (text == "ocsf") return ExportFormat::kOcsf;
  if (text == "syslog") return ExportFormat::kSyslog;
  if (text == "cef") return ExportFormat::kCef;
  return base::Error(base::ErrorCode::kBadArgument, "the format is jsonl, ocsf, syslog or cef");
}

std::string FormatExport(ExportFormat format, std::string_view line, const ExportOrigin& origin) {
  Json record = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!record.is_object()) record = Json{{"kind", "unreadable"}, {"detail", SafeText(line, kUnreadableShown)}};
  switch (format) {
    case ExportFormat::kJsonl:
      return record.dump(-1, ' ', true, Json::error_handler_t::replace);
    case ExportFormat::kOcsf:
      return FormatOcsf(record, origin.version);
    case ExportFormat::kSyslog:
      return Fitting(Syslog, record, origin);
    case ExportFormat::kCef:
      return Fitting(Cef, record, origin);
  }
  return {};
}

}  // namespace credbroker::audit
