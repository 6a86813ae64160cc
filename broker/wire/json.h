#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace credbroker::wire {

// One value of a JSON text: where it stands and what it is.
struct JsonValue {
  enum class Kind { kString, kNumber, kTrue, kFalse, kNull, kObject, kArray };
  std::string path;  // `a/b/*/c`: member names joined, `*` for elements; empty for the whole
  Kind kind = Kind::kNull;
  std::string text;  // of strings (decoded) and numbers (as written)
};

struct JsonLimits {
  std::size_t max_bytes = 1024 * 1024;
  std::size_t max_values = 20'000;
  int max_depth = 32;
  std::size_t max_path_bytes = 1024;  // each value has its whole path
};

// Reads one JSON text (RFC 8259) so strictly that every reader sees the same: valid UTF-8, no byte order mark, nothing
// behind it, no member name twice in an object, no name that holds `/` or is `*`, no lone surrogates, no escaped NUL. Values in
// document order, containers in front of what they hold. Fails kBodyUndecided.
absl::Status ReadJson(std::string_view text, const JsonLimits& limits, std::vector<JsonValue>* out);

}  // namespace credbroker::wire
