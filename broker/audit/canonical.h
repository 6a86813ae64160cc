#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace credbroker::audit {

inline constexpr std::size_t kMaxCanonicalBytes = 1 << 20;
inline constexpr int kMaxCanonicalDepth = 64;

// The one canonical form of a JSON text (RFC 8785): members sorted by UTF-16 code units, shortest strings, numbers as
// ECMAScript writes them, no white space. Fails kBadArgument for anything that is not exactly one JSON document, and for
// what has no single meaning: a repeated name, a lone surrogate, invalid UTF-8, a number outside the double's range,
// more than kMaxCanonicalBytes or nested deeper than kMaxCanonicalDepth. Pure, thread-safe.
absl::StatusOr<std::string> Canonicalize(std::string_view json);

// True when `line` is one JSON object in canonical form: what every entry of a ledger must be. Equal to
// `Canonicalize(line) == line` for objects, without a copy of the line: about 1 ns for 4 bytes.
bool IsCanonicalObject(std::string_view line);

// The order of member names: by UTF-16 code units. Both are valid UTF-8.
bool Utf16Less(std::string_view a, std::string_view b);

// Appends a finite number as ECMAScript's Number::toString does (RFC 8785 section 3.2.2.3).
void AppendNumber(double number, std::string* out);

// Appends a canonical JSON string, quotes included. `text` must be valid UTF-8.
void AppendJsonString(std::string_view text, std::string* out);

}  // namespace credbroker::audit
