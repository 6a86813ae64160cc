#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace credbroker::base {

// Hostile text made safe for a log line, a table or a terminal: control characters (C0, DEL, C1), bidirectional
// and other invisible format characters, and invalid UTF-8 become `\xHH` or `\u{HHHH}`; a backslash is doubled.
// Cut at `max_bytes` with a note of the full length: `abc...[8192 bytes]`.
std::string EscapeText(std::string_view text, std::size_t max_bytes);

// True for well-formed UTF-8 (no surrogates, no overlong forms).
bool IsUtf8(std::string_view text);

// Unpadded base64url (RFC 4648 section 5). Decoding is strict: no padding, no other characters, and the unused
// bits of the last digit must be zero. False leaves `out` unspecified.
std::string Base64UrlEncode(std::string_view bytes);
bool Base64UrlDecode(std::string_view text, std::string* out);

// Standard base64 with padding. Decoding takes padded or unpadded text, otherwise strict as above.
std::string Base64Encode(std::string_view bytes);
bool Base64Decode(std::string_view text, std::string* out);

std::string HexEncode(std::string_view bytes);
bool HexDecode(std::string_view text, std::string* out);

// ASCII only, no locale.
std::string AsciiLower(std::string_view text);
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

}  // namespace credbroker::base
