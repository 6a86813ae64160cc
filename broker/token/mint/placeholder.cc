#include "token/mint/placeholder.h"

#include <algorithm>

#include "base/str.h"
#include "crypto/hash.h"
#include "token/placeholder_shape.h"

namespace credbroker::token {
namespace {

// Enough bytes for the longest seed, from the session's name: two calls agree without a row in the store.
std::string SeedBytes(std::string_view prefix, std::string_view session, std::size_t count) {
  std::string bytes;
  for (char block = 0; bytes.size() < count; ++block) {
    bytes += crypto::Blake2b(base::StrCat(prefix, "|", session, "|", block), 64, "credbroker placeholder seed");
  }
  return bytes;
}

}  // namespace

std::string MakePlaceholder(PlaceholderKind kind, std::string_view session) {
  const PlaceholderShape& shape = *std::find_if(kPlaceholderShapes.begin(), kPlaceholderShapes.end(),
                                                [&](const PlaceholderShape& s) { return s.kind == kind; });
  const std::string seed = PlaceholderCharacters(shape, SeedBytes(shape.prefix, session, shape.seed), shape.seed);
  const std::string body = base::StrCat(shape.prefix, shape.marker, seed);
  return base::StrCat(body, PlaceholderChecksum(shape, body), shape.suffix);
}

}  // namespace credbroker::token
