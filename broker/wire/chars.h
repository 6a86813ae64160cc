#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace credbroker::wire::chars {

// Classes of bytes in HTTP, as bits of one table: one look-up a byte.
enum Class : std::uint8_t {
  kTokenChar = 1,   // RFC 9110 section 5.6.2
  kFieldChar = 2,   // HTAB, SP, visible ASCII
  kTargetChar = 4,  // visible ASCII without `"<>\^`{|}#`
  kDigit = 8,
  kHexDigit = 16,
  kUnreserved = 32,  // RFC 3986 section 2.3
  kHostChar = 64,    // letters, digits, `-._:[]`
  kUpper = 128,
};

constexpr bool In(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

constexpr std::array<std::uint8_t, 256> MakeTable() {
  std::array<std::uint8_t, 256> table{};
  for (int i = 0x20; i < 0x7F; ++i) {
    const char c = static_cast<char>(i);
    const bool digit = c >= '0' && c <= '9';
    const bool upper = c >= 'A' && c <= 'Z';
    const bool alnum = digit || upper || (c >= 'a' && c <= 'z');
    int bits = kFieldChar;
    if (alnum || In(c, "!#$%&'*+-.^_`|~")) bits |= kTokenChar;
    if (c != ' ' && !In(c, "\"<>\\^`{|}#")) bits |= kTargetChar;
    if (digit) bits |= kDigit;
    if (digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) bits |= kHexDigit;
    if (alnum || In(c, "-._~")) bits |= kUnreserved;
    if (alnum || In(c, "-._:[]")) bits |= kHostChar;
    if (upper) bits |= kUpper;
    table[i] = static_cast<std::uint8_t>(bits);
  }
  table['\t'] = kFieldChar;
  return table;
}
inline constexpr std::array<std::uint8_t, 256> kTable = MakeTable();

inline bool Is(char c, Class wanted) { return (kTable[static_cast<unsigned char>(c)] & wanted) != 0; }

// True if every byte is of the class; true for no bytes.
inline bool All(std::string_view text, Class wanted) {
  std::uint8_t bits = 0xFF;
  for (const char c : text) bits &= kTable[static_cast<unsigned char>(c)];
  return (bits & wanted) != 0;
}

// Is no byte a control character (below 0x20, or 0x7F) or, with `high`, above 0x7F? Looks at eight bytes at a time.
inline bool NoControls(std::string_view text, bool high) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x8080808080808080;
  // What borrows from the byte above it is a control itself, so a word without one is judged rightly.
  const auto odd = [&](std::uint64_t word) {
    const std::uint64_t del = word ^ kOnes * 0x7F;
    const std::uint64_t found = ((word - kOnes * 0x20) & ~word) | ((del - kOnes) & ~del) | (high ? word : 0);
    return (found & kHighs) != 0;
  };
  std::uint64_t word;
  if (text.size() < sizeof word) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte == 0x7F || (high && byte > 0x7F)) return false;
    }
    return true;
  }
  const char* const last = text.data() + text.size() - sizeof word;
  for (const char* at = text.data(); at < last; at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    if (odd(word)) return false;
  }
  std::memcpy(&word, last, sizeof word);  // some bytes twice
  return !odd(word);
}

inline int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

inline char Lower(char c) { return Is(c, kUpper) ? static_cast<char>(c | 0x20) : c; }

}  // namespace credbroker::wire::chars
