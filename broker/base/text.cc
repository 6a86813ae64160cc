#include "base/text.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace credbroker::base {
namespace {

// Decodes one code point at `at`; returns its length, or 0 for anything that is not well-formed UTF-8.
std::size_t DecodeUtf8(std::string_view text, std::size_t at, uint32_t* point) {
  const auto byte = [&](std::size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) {
    *point = first;
    return 1;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return 0;
  uint32_t value = first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3F);
  }
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return 0;
  *point = value;
  return length;
}

// C1 controls, soft hyphen, zero-width and bidirectional marks, line separators, byte order mark, tags.
bool IsInvisible(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || c == 0x61C || c == 0x180E || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) ||
         (c >= 0xE0000 && c <= 0xE007F);
}

void AppendEscaped(std::string_view text, std::size_t at, std::size_t length, uint32_t point, std::string* out) {
  char buffer[16];
  if (length == 0 || point < 0x80) {
    std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<uint8_t>(text[at]));
  } else {
    std::snprintf(buffer, sizeof buffer, "\\u{%x}", point);
  }
  *out += buffer;
}

constexpr std::string_view kStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<int8_t, 256> DecodeTable(std::string_view alphabet) {
  std::array<int8_t, 256> table{};
  for (auto& entry : table) entry = -1;
  for (std::size_t i = 0; i < alphabet.size(); ++i) table[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
  return table;
}
constexpr auto kStandardTable = DecodeTable(kStandard);
constexpr auto kUrlSafeTable = DecodeTable(kUrlSafe);

std::string Encode(std::string_view bytes, std::string_view alphabet) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (held += 8; held >= 6; held -= 6) out.push_back(alphabet[bits >> (held - 6) & 63]);
  }
  if (held > 0) out.push_back(alphabet[bits << (6 - held) & 63]);
  return out;
}

bool Decode(std::string_view text, const std::array<int8_t, 256>& table, std::string* out) {
  out->clear();
  if (text.size() % 4 == 1) return false;
  out->reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int8_t digit = table[static_cast<uint8_t>(c)];
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out->push_back(static_cast<char>(bits >> held));
  }
  return (bits & ((1u << held) - 1)) == 0;  // one text per value, or a signature covers two texts
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

}  // namespace

std::string EscapeText(std::string_view text, std::size_t max_bytes) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size() && out.size() < max_bytes) {
    uint32_t point = 0;
    const std::size_t length = DecodeUtf8(text, at, &point);
    if (length == 0 || IsInvisible(point)) {
      AppendEscaped(text, at, length, point, &out);
    } else if (point == '\\') {
      out += "\\\\";
    } else {
      out.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  if (at < text.size()) out += "...[" + std::to_string(text.size()) + " bytes]";
  return out;
}

bool IsUtf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  for (std::size_t at = 0; at < text.size();) {
    uint64_t word = kHighBits;
    if (at + sizeof word <= text.size()) std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighBits) == 0) {  // eight ASCII characters
      at += sizeof word;
      continue;
    }
    uint32_t point = 0;
    const std::size_t length = DecodeUtf8(text, at, &point);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string Base64UrlEncode(std::string_view bytes) { return Encode(bytes, kUrlSafe); }
bool Base64UrlDecode(std::string_view text, std::string* out) { return Decode(text, kUrlSafeTable, out); }

std::string Base64Encode(std::string_view bytes) {
  std::string out = Encode(bytes, kStandard);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

bool Base64Decode(std::string_view text, std::string* out) {
  if (text.size() % 4 == 0) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  }
  return Decode(text, kStandardTable, out);
}

std::string HexEncode(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    out.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
    out.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
  }
  return out;
}

bool HexDecode(std::string_view text, std::string* out) {
  out->clear();
  if (text.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    out->push_back(static_cast<char>(high << 4 | low));
  }
  return true;
}

std::string AsciiLower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = Lower(c);
  return out;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (Lower(a[i]) != Lower(b[i])) return false;
  }
  return true;
}

}  // namespace credbroker::base
