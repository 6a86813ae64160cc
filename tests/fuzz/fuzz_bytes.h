#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace credbroker::fuzz {

inline std::string_view View(const uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A property that must hold for every input; the fuzzer keeps the input that breaks it.
inline void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace credbroker::fuzz
