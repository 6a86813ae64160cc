#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace credbroker::base {

// Reads a duration as people write it in policies and flags: `15m`, `2h`, `1h30m`, `90s`, `250ms`, `7d`.
// Whole numbers only, at least one unit, no sign. Fails with kBadDuration. Limit: 10 years.
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text);

// The shortest text that ParseDuration reads back to the same value: `15m`, `1h30m`, `0s`.
std::string DurationText(absl::Duration duration);

// RFC 3339 in UTC with microseconds, always the same width: `2026-11-30T22:43:11.000123Z`.
std::string TimeText(absl::Time time);

// Reads RFC 3339, or a plain date (`2027-01-31`, the start of that day in UTC). Fails with kBadTime.
absl::StatusOr<absl::Time> ParseTime(std::string_view text);

}  // namespace credbroker::base
