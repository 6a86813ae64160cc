#include "base/id.h"

#include <sodium.h>

#include <array>
#include <cstdint>

namespace credbroker::base {

std::string RandomId(std::string_view prefix) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<uint8_t, 16> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  std::string id(prefix);
  for (const uint8_t byte : bytes) id.push_back(kAlphabet[byte & 31]);
  return id;
}

}  // namespace credbroker::base
