#include "wire/basic_auth.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "wire/chars.h"
#include "wire/http_head.h"

namespace credbroker::wire {
namespace {

constexpr std::size_t kMaxBytes = 16 * 1024;

absl::Status BadToken(const char* detail) { return base::Error(base::ErrorCode::kBadToken, detail); }

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

absl::Status TakeLogin(std::string_view encoded, Authorization* out) {
  std::string login;
  if (!base::Base64Decode(encoded, &login)) {
    base::WipeString(login);
    return BadToken("the Basic login is not base64");
  }
  const std::size_t colon = login.find(':');
  const bool usable = colon != std::string::npos && !HasControl(login);
  if (usable) {
    out->user = login.substr(0, colon);
    out->password = login.substr(colon + 1);
  }
  base::WipeString(login);
  return usable ? absl::OkStatus() : BadToken("the Basic login has no colon, or control bytes");
}

// token68 (RFC 9110 section 11.2) is what every token and key that we hand out fits.
bool IsToken68(std::string_view text) {
  const std::size_t end = std::min(text.find('='), text.size());
  const std::string_view body = text.substr(0, end);
  const bool padded = text.find_first_not_of('=', end) == std::string_view::npos;
  return !body.empty() && padded && std::all_of(body.begin(), body.end(), [](char c) {
    return chars::Is(c, chars::kUnreserved) || c == '+' || c == '/' || c == ':';
  });
}

}  // namespace

Authorization::Authorization(Authorization&& other) noexcept { *this = std::move(other); }

Authorization& Authorization::operator=(Authorization&& other) noexcept {
  if (this == &other) return *this;
  scheme = other.scheme;
  // Swapped, not moved: a short string's bytes would stay behind in `other` unwiped.
  for (auto field : {&Authorization::user, &Authorization::password, &Authorization::value}) {
    std::swap(this->*field, other.*field);
    base::WipeString(other.*field);
  }
  return *this;
}

Authorization::~Authorization() {
  for (std::string* text : {&user, &password, &value}) base::WipeString(*text);
}

absl::StatusOr<Authorization> ParseAuthorization(std::string_view value) {
  if (value.size() > kMaxBytes) return BadToken("the authorization value is too long");
  const std::size_t space = std::min(value.find(' '), value.size());
  const std::string_view scheme = value.substr(0, space);
  std::string_view rest = value.substr(space);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  if (scheme.empty()) return BadToken("the authorization value is empty");

  Authorization out;
  if (EqualsToken(scheme, "Basic")) {
    out.scheme = AuthScheme::kBasic;
    if (absl::Status status = TakeLogin(rest, &out); !status.ok()) return status;
    return out;
  }
  if (EqualsToken(scheme, "Bearer")) out.scheme = AuthScheme::kBearer;
  if (EqualsToken(scheme, "token")) out.scheme = AuthScheme::kToken;
  if (out.scheme == AuthScheme::kOther) return out;
  if (!IsToken68(rest)) return BadToken("the value behind the scheme is empty or has other bytes than a token");
  out.value = rest;
  return out;
}

}  // namespace credbroker::wire
