// Records of a ledger that was tampered with, and cursors from strangers: every export is one harmless line.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "audit/export_cursor.h"
#include "audit/export_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace credbroker::audit;
  // A line of a ledger is shorter, and its nesting is checked before it is kept.
  if (size > 64 * 1024) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const ExportFormat format : {ExportFormat::kJsonl, ExportFormat::kOcsf, ExportFormat::kSyslog, ExportFormat::kCef}) {
    const std::string line = FormatExport(format, bytes, {std::string(bytes.substr(0, 300)), std::string(bytes.substr(0, 300))});
    for (const char c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
    }
    if ((format == ExportFormat::kSyslog || format == ExportFormat::kCef) && line.size() > kMaxEventBytes) std::abort();
  }
  if (const auto cursor = ParseCursor(bytes); cursor.ok() && CursorText(*cursor) != bytes) std::abort();
  return 0;
}
