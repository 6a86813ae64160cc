#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace credbroker::audit {

// How a field of the record may appear in the ledger.
enum class FieldClass {
  kPublic,  // as text, escaped and cut: words and ids of ours
  kHashed,  // the same, for what strangers may choose: a token or key in it appears as its fingerprint only
  kNever,   // not at all: such a name is in no line
};

// Are all bytes such that they stand for themselves both in base::EscapeText and in a JSON string: visible ASCII and space, no
// quote, no backslash? Looks at eight bytes at a time.
bool IsPlain(std::string_view text);

// Does the text look as if it held a token of this product or a well-known provider's key?
bool HoldsToken(std::string_view text);

// Appends a JSON string: escaped as base::EscapeText does, cut after `limit` bytes; kHashed: tokens masked.
void AppendText(std::string_view text, FieldClass field_class, std::size_t limit, std::string* out);

// How a token appears in records: `[token:` + 16 hex digits of its SHA-256 + `]`.
std::string TokenFingerprint(std::string_view token);

// `text` with everything that looks like a token or key replaced by its fingerprint. For texts that go elsewhere
// than into a record (logs, replies).
std::string MaskTokens(std::string_view text);

}  // namespace credbroker::audit
