#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "audit/json_text.h"
#include "model/record.h"

namespace credbroker::audit {

// A line is at most this long, whatever a sandbox sent; a leaf of a C2SP log may have 64 KiB.
inline constexpr std::size_t kMaxLineBytes = 16 * 1024;
inline constexpr std::size_t kMaxLeafBytes = 64 * 1024 - 1;
inline constexpr int kRecordSchema = 1;

struct FieldRule {
  std::string_view name;
  FieldClass field_class;
};

// The allow-list, sorted as the line is: every name that a line may hold, and the names that none may hold.
std::span<const FieldRule> FieldRules();

// A canonical line (RFC 8785, no newline) but for its id, which the ledger knows only when it appends it.
struct JsonLine {
  std::string text;
  std::size_t id_at = 0;  // where the id's text goes in, inside its quotes

  // Appends the whole line with `id` in its place, and a newline.
  void AppendTo(std::string* out, std::string_view ledger, uint64_t index) const;
};

// Writes `record` to `line`, whose memory is reused (about a microsecond). Hostile texts are made safe as
// base::EscapeText does and cut with a note of their length: path 2,048 bytes, ref and name 512, others 256; lists after
// 64 elements with the note `...[N in all]`. If the line would still pass kMaxLineBytes all limits shrink alike.
// A text that looks like a token of this product, or like a well-known provider's key, is replaced by its fingerprint.
// Pure, thread-safe.
void FormatRecord(const model::Record& record, JsonLine* line);

}  // namespace credbroker::audit
