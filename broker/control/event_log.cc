#include "control/event_log.h"

#include <spdlog/spdlog.h>

#include "base/str.h"
#include "base/text.h"

namespace credbroker::control {
namespace {

constexpr std::size_t kMaxValueBytes = 512;

// EscapeText leaves quotes alone and doubles backslashes, so only the quote is left to mask.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : base::EscapeText(text, kMaxValueBytes)) {
    if (c == '"') {
      out += "\\u0022";
    } else {
      out.push_back(c);
    }
  }
  // `\xHH` and `\u{HHHH}` are no JSON escapes: double the backslash of each that is not doubled yet.
  std::string safe;
  for (std::size_t i = 0; i < out.size(); ++i) {
    safe.push_back(out[i]);
    if (out[i] != '\\') continue;
    if (i + 1 < out.size() && out[i + 1] == '\\') {
      safe.push_back(out[++i]);
    } else if (out.compare(i, 6, "\\u0022") != 0) {
      safe.push_back('\\');
    }
  }
  return safe + "\"";
}

spdlog::level::level_enum SpdLevel(Level level) {
  switch (level) {
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void LogEvent(Level level, std::string_view event,
              std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  std::string line = base::StrCat("\"event\":", Quoted(event));
  for (const auto& [name, value] : fields) base::StrAppend(&line, ",", Quoted(name), ":", Quoted(value));
  spdlog::log(SpdLevel(level), "{}", line);
}

}  // namespace credbroker::control
