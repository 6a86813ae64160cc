// Any bytes as claims: what decodes must be exactly what the encoder writes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "token/claims.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto claims = credbroker::token::DecodeClaims(json);
  if (!claims.ok()) return 0;
  if (credbroker::token::EncodeClaims(*claims).value() != json) std::abort();
  if (claims->expires_at <= claims->not_before || claims->scopes.empty()) std::abort();
  return 0;
}
