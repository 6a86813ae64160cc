#include "base/file_name.h"

#include <cstddef>

namespace credbroker::base {
namespace {

// U+200C..200F, U+202A..202E, U+206A..206F, U+FEFF: 0 when none of them stands at the start.
std::size_t Ignored(std::string_view text) {
  if (text.size() < 3) return 0;
  const auto third = static_cast<unsigned char>(text[2]);
  if (text.starts_with("\xE2\x80")) return (third >= 0x8C && third <= 0x8F) || (third >= 0xAA && third <= 0xAE) ? 3 : 0;
  if (text.starts_with("\xE2\x81")) return third >= 0xAA && third <= 0xAF ? 3 : 0;
  return text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

}  // namespace

std::string FoldFileName(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  while (!name.empty()) {
    std::size_t used = Ignored(name);
    if (used == 0 && name.starts_with("\xC5\xBF")) {  // long s
      out.push_back('s');
      used = 2;
    } else if (used == 0 && name.starts_with("\xE2\x84\xAA")) {  // the sign for kelvin
      out.push_back('k');
      used = 3;
    } else if (used == 0) {
      const char c = name.front();
      out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
      used = 1;
    }
    name.remove_prefix(used);
  }
  if (const std::size_t colon = out.find(':'); colon != std::string::npos && colon != 0) out.resize(colon);
  while (out.size() > 1 && (out.back() == '.' || out.back() == ' ')) out.pop_back();
  return out;
}

}  // namespace credbroker::base
