#include "token/placeholder.h"

#include <algorithm>

#include "crypto/hash.h"
#include "token/placeholder_shape.h"

namespace credbroker::token {
namespace {

bool Fits(const PlaceholderShape& shape, std::string_view text) {
  if (text.size() != shape.size() || !text.starts_with(shape.prefix) || !text.ends_with(shape.suffix)) return false;
  if (text.substr(shape.prefix.size(), shape.marker.size()) != shape.marker) return false;
  const std::string_view body = text.substr(0, shape.prefix.size() + shape.marker.size() + shape.seed);
  return text.substr(body.size(), shape.checksum) == PlaceholderChecksum(shape, body);
}

}  // namespace

std::string PlaceholderCharacters(const PlaceholderShape& shape, std::string_view bytes, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(shape.alphabet[static_cast<unsigned char>(bytes[i]) % shape.alphabet.size()]);
  }
  return out;
}

std::string PlaceholderChecksum(const PlaceholderShape& shape, std::string_view body) {
  return PlaceholderCharacters(shape, crypto::Blake2b(body, 32, "credbroker placeholder checksum"), shape.checksum);
}

bool IsPlaceholder(std::string_view text) {
  return std::any_of(kPlaceholderShapes.begin(), kPlaceholderShapes.end(),
                     [&](const PlaceholderShape& shape) { return Fits(shape, text); });
}

}  // namespace credbroker::token
