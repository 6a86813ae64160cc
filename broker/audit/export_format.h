#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace credbroker::audit {

// Records in the forms that other systems read. Derived from the ledger, never its source: what is proved and shipped
// are the canonical lines.
enum class ExportFormat {
  kJsonl,   // the record as a reviewer reads it, an outcome with the fields of its intent
  kOcsf,    // OCSF 1.3.0, class API Activity (6003), profile security_control; what has no place is `unmapped`
  kSyslog,  // RFC 5424, facility 13 (log audit), every field as structured data
  kCef,     // CEF:0
};

absl::StatusOr<ExportFormat> ParseExportFormat(std::string_view text);  // jsonl, ocsf, syslog, cef; kBadArgument

// Where the export is made: the product's version and the machine's name, both as text that may be anything.
struct ExportOrigin {
  std::string version;
  std::string host;
};

// RFC 5425 asks receivers to take 8,192 bytes; what is longer is lost at some.
inline constexpr std::size_t kMaxEventBytes = 8192;

// One line, without its newline, of a record (JSON, joined with its intent). Control, bidirectional and other invisible
// characters, quotes and separators of a format are escaped as that format wants it: a record cannot forge or break
// another. In syslog and CEF texts are cut with a note of their length, so that the line stays within kMaxEventBytes.
// What is no record becomes a line that says so. Pure, thread-safe.
std::string FormatExport(ExportFormat format, std::string_view line, const ExportOrigin& origin);

}  // namespace credbroker::audit
