#include "base/duration.h"

#include <array>
#include <cstdint>

#include "base/str.h"
#include "base/error.h"

namespace credbroker::base {
namespace {

struct Unit {
  std::string_view name;
  int64_t milliseconds;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr int64_t kMaxMilliseconds = 10LL * 365 * 86'400'000;

const Unit* FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

absl::Status Bad(std::string_view text) {
  return Error(ErrorCode::kBadDuration, StrCat("\"", text.substr(0, 40), "\" (write 15m, 2h, 1h30m, 90s or 7d)"));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

absl::StatusOr<absl::Duration> ParseDuration(std::string_view text) {
  if (text.empty() || text.size() > 40) return Bad(text);
  int64_t total = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    int64_t number = 0;
    const std::size_t digits = at;
    for (; at < text.size() && IsDigit(text[at]); ++at) {
      number = number * 10 + (text[at] - '0');
      if (number > kMaxMilliseconds) return Bad(text);
    }
    if (at == digits) return Bad(text);
    const std::size_t letters = at;
    while (at < text.size() && IsLetter(text[at])) ++at;
    const Unit* unit = FindUnit(text.substr(letters, at - letters));
    if (unit == nullptr || number > kMaxMilliseconds / unit->milliseconds) return Bad(text);
    total += number * unit->milliseconds;
    if (total > kMaxMilliseconds) return Bad(text);
  }
  return absl::Milliseconds(total);
}

std::string DurationText(absl::Duration duration) {
  int64_t left = absl::ToInt64Milliseconds(duration);
  if (left <= 0) return "0s";
  std::string text;
  for (const Unit& unit : kUnits) {
    if (left < unit.milliseconds) continue;
    StrAppend(&text, left / unit.milliseconds, unit.name);
    left %= unit.milliseconds;
  }
  return text;
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

absl::StatusOr<absl::Time> ParseTime(std::string_view text) {
  absl::Time time;
  std::string why;
  const absl::string_view input(text.data(), text.size());
  if (absl::ParseTime(absl::RFC3339_full, input, &time, &why) || absl::ParseTime("%Y-%m-%d", input, &time, &why)) {
    return time;
  }
  return Error(ErrorCode::kBadTime, StrCat("\"", text.substr(0, 40), "\" (write 2027-01-31 or RFC 3339)"));
}

}  // namespace credbroker::base
