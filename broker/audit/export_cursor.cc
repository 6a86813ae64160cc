#include "audit/export_cursor.h"

#include <algorithm>

#include "base/error.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

constexpr std::string_view kVersion = "c1";
constexpr uint64_t kEndOfIndexes = uint64_t{1} << 53;

absl::Status Bad() { return base::Error(base::ErrorCode::kBadArgument, "this is no cursor of an export"); }

bool IsLedgerName(std::string_view name) {
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

absl::StatusOr<ExportCursor> ParseCursor(std::string_view text) {
  ExportCursor cursor;
  const std::string whole(text.substr(0, kMaxCursorLedgers * 64));
  if (!text.starts_with(kVersion) || whole.size() != text.size()) return Bad();
  text.remove_prefix(kVersion.size());
  while (!text.empty()) {
    if (text.front() != ':' || cursor.size() == kMaxCursorLedgers) return Bad();
    text.remove_prefix(1);
    const std::string_view entry = text.substr(0, text.find(':'));
    text.remove_prefix(entry.size());
    const std::size_t equals = entry.find('=');
    uint64_t index = 0;
    if (equals == std::string_view::npos || !IsLedgerName(entry.substr(0, equals)) ||
        !base::ParseInt(entry.substr(equals + 1), &index) || index > kEndOfIndexes) {
      return Bad();
    }
    cursor[std::string(entry.substr(0, equals))] = index;
  }
  // One text for one cursor: what is unsorted, named twice or zero-padded is not ours.
  if (CursorText(cursor) != whole) return Bad();
  return cursor;
}

std::string CursorText(const ExportCursor& cursor) {
  std::string text(kVersion);
  for (const auto& [ledger, index] : cursor) base::StrAppend(&text, ":", ledger, "=", index);
  return text;
}

}  // namespace credbroker::audit
