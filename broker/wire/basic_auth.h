#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace credbroker::wire {

enum class AuthScheme { kBasic, kBearer, kToken, kOther };

// The value of Authorization or Proxy-Authorization, taken apart. Wipes its copies when destroyed.
struct Authorization {
  Authorization() = default;
  Authorization(Authorization&&) noexcept;
  Authorization& operator=(Authorization&&) noexcept;
  ~Authorization();

  AuthScheme scheme = AuthScheme::kOther;
  std::string user;      // Basic: before the first colon
  std::string password;  // Basic: behind it; may be empty
  std::string value;     // Bearer, token: what follows the scheme; other schemes: empty
};

// Reads `Basic BASE64`, `Bearer VALUE`, `token VALUE`; schemes in any letter case, one or more spaces. Base64 is
// strict, padded or not, and percent encoding is left alone. kBadToken for broken base64, a login without colon,
// control bytes in it, or an empty value; any other scheme is kOther. At most 16 KiB.
absl::StatusOr<Authorization> ParseAuthorization(std::string_view value);

}  // namespace credbroker::wire
