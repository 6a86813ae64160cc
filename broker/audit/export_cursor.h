#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace credbroker::audit {

// How far an export is: for each ledger the index of the next entry. As text it survives restarts of both ends:
//   cursor := "c1" *( ":" ledger "=" index )     ledgers sorted, each once; [a-z0-9_]{1,32}
using ExportCursor = std::map<std::string, uint64_t, std::less<>>;

inline constexpr std::size_t kMaxCursorLedgers = 256;

// Fails kBadArgument for anything that CursorText would not write. Pure, thread-safe.
absl::StatusOr<ExportCursor> ParseCursor(std::string_view text);
std::string CursorText(const ExportCursor& cursor);

}  // namespace credbroker::audit
