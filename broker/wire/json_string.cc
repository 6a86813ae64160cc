#include "wire/json_string.h"

#include <cstdint>

namespace credbroker::wire {
namespace {

bool ReadUnit(std::string_view text, std::size_t* at, uint32_t* out) {
  if (*at + 4 > text.size()) return false;
  *out = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = text[(*at)++];
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      *out = *out * 16 + static_cast<uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      *out = *out * 16 + static_cast<uint32_t>(lower - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

void AppendUtf8(uint32_t point, std::string* out) {
  const auto put = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6), put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12), put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18), put(0x80 | (point >> 12 & 0x3F)), put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
  }
}

bool ReadEscape(std::string_view text, std::size_t* at, std::string* out) {
  if (*at >= text.size()) return false;
  const char c = text[(*at)++];
  constexpr std::string_view kShort = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
  if (const std::size_t found = kShort.find(c); found != std::string_view::npos) {
    out->push_back(kMeaning[found]);
    return true;
  }
  uint32_t unit = 0;
  if (c != 'u' || !ReadUnit(text, at, &unit) || unit == 0 || (unit >= 0xDC00 && unit < 0xE000)) return false;
  if (unit >= 0xD800 && unit < 0xDC00) {
    uint32_t low = 0;
    if (text.substr(*at, 2) != "\\u") return false;
    *at += 2;
    if (!ReadUnit(text, at, &low) || low < 0xDC00 || low > 0xDFFF) return false;
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  AppendUtf8(unit, out);
  return true;
}

// Copies one character of more than one byte. Overlong forms, surrogates and what is above U+10FFFF are refused.
bool CopyWide(std::string_view text, std::size_t* at, std::string* out) {
  const auto lead = static_cast<uint8_t>(text[*at]);
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || *at + size > text.size()) return false;
  uint32_t point = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[*at + i]);
    if ((byte & 0xC0) != 0x80) return false;
    point = point << 6 | (byte & 0x3F);
  }
  if ((size == 3 && point < 0x800) || (size == 4 && (point < 0x10000 || point > 0x10FFFF))) return false;
  if (point >= 0xD800 && point < 0xE000) return false;
  out->append(text.substr(*at, size));
  *at += size;
  return true;
}

}  // namespace

bool ReadQuoted(std::string_view text, std::size_t* at, std::string* out) {
  if (*at >= text.size() || text[*at] != '"') return false;
  ++*at;
  while (*at < text.size()) {
    const auto c = static_cast<uint8_t>(text[*at]);
    if (c == '"') {
      ++*at;
      return true;
    }
    if (c < 0x20) return false;
    if (c >= 0x80) {
      if (!CopyWide(text, at, out)) return false;
      continue;
    }
    ++*at;
    if (c != '\\') {
      out->push_back(static_cast<char>(c));
    } else if (!ReadEscape(text, at, out)) {
      return false;
    }
  }
  return false;
}

}  // namespace credbroker::wire
