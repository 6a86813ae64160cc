#include "edge/identity.h"

#include "base/error.h"
#include "base/macros.h"
#include "token/claims.h"
#include "token/verify.h"
#include "wire/basic_auth.h"
#include "wire/hop.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;

// The token inside a credential field's value, or empty.
std::string TokenIn(std::string_view value) {
  if (token::LooksLikeToken(value)) return std::string(value);
  const auto parsed = wire::ParseAuthorization(value);
  if (!parsed.ok()) return {};
  for (const std::string* part : {&parsed->password, &parsed->value, &parsed->user}) {
    if (token::LooksLikeToken(*part)) return *part;
  }
  return {};
}

bool Mentions(std::string_view text) { return text.find(token::kTokenPrefix) != std::string_view::npos; }

}  // namespace

absl::StatusOr<std::string> ProxyToken(const wire::RequestHead& head) {
  const auto value = head.FindHeader("proxy-authorization");
  if (!value) return std::string();
  std::string text = TokenIn(*value);
  if (text.empty()) return base::Error(ErrorCode::kBadToken, "no token in the proxy login");
  return text;
}

absl::StatusOr<std::string> RequestToken(const wire::RequestHead& head) {
  std::string found;
  for (const wire::Header& field : head.headers) {
    if (!wire::IsCredentialHeader(field.name) || wire::IsProxyInternal(field.name)) continue;
    std::string text = TokenIn(field.value);
    if (text.empty()) continue;
    if (!found.empty() && found != text) return base::Error(ErrorCode::kAmbiguousToken);
    found = std::move(text);
  }
  return found;
}

std::string_view SoleCredentialField(const wire::RequestHead& head) {
  std::string_view value;
  for (const wire::Header& field : head.headers) {
    if (!wire::IsCredentialHeader(field.name) || wire::IsProxyInternal(field.name)) continue;
    if (!value.empty()) return {};
    value = field.value;
  }
  return value;
}

bool HasMisplacedToken(const wire::RequestHead& head) {
  if (Mentions(head.target)) return true;
  for (const wire::Header& field : head.headers) {
    if (Mentions(field.value) && !wire::IsCredentialHeader(field.name) && !wire::IsProxyInternal(field.name)) return true;
  }
  return false;
}

}  // namespace credbroker::edge
