#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "wire/parse_result.h"

namespace credbroker::wire {

// Parses `bytes` whole and every prefix of it: a shorter prefix either asks for more or says what the whole says. Of more
// than 4 KiB about 4,096 prefixes, the last ones among them: all would take a sanitizer build minutes.
// `parse` is a function of (std::string_view) -> ParseResult without memory of earlier calls.
template <typename Parse>
ParseResult ParseAtEveryCut(std::string_view bytes, Parse parse) {
  const ParseResult whole = parse(bytes);
  const std::size_t step = 1 + bytes.size() / 4096;
  for (std::size_t size = 0; size < bytes.size(); size += bytes.size() - size > 64 ? step : 1) {
    // A copy of its own, so that a sanitizer sees a read past the end.
    const std::string cut(bytes.substr(0, size));
    const ParseResult part = parse(std::string_view(cut.data(), cut.size()));
    if (part.need_more()) continue;
    EXPECT_EQ(part.step, whole.step) << "cut at " << size;
    EXPECT_EQ(part.consumed, whole.consumed) << "cut at " << size;
    EXPECT_EQ(static_cast<int>(part.error), static_cast<int>(whole.error)) << "cut at " << size;
  }
  return whole;
}

}  // namespace credbroker::wire
