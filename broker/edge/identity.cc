#include "edge/identity.h"

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "token/claims.h"
#include "token/verify.h"
#include "wire/basic_auth.h"
#include "wire/hop.h"
#include "wire/query.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using Placement = model::Placement::Kind;

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

std::string HeaderToken(const wire::RequestHead& head, const model::Placement& place) {
  if (head.CountHeader(place.name) != 1) return {};
  std::string_view value = *head.FindHeader(place.name);
  if (value.starts_with(place.prefix)) value.remove_prefix(place.prefix.size());
  return TokenIn(value);
}

std::string CookieToken(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    std::string_view cookie = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(cookie.size() + 1, cookies.size()));
    while (cookie.starts_with(' ')) cookie.remove_prefix(1);
    const std::size_t equals = cookie.find('=');
    if (equals == std::string_view::npos || cookie.substr(0, equals) != name) continue;
    const std::string_view value = cookie.substr(equals + 1);
    return token::LooksLikeToken(value) ? std::string(value) : std::string();
  }
  return {};
}

std::string QueryToken(std::string_view query, std::string_view name) {
  if (query.starts_with('?')) query.remove_prefix(1);
  const auto value = wire::QueryValue(query, name);
  return value.ok() && *value && token::LooksLikeToken(**value) ? **value : std::string();
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

absl::StatusOr<std::string> PlacedToken(const wire::RequestHead& head, std::string_view query, std::span<const model::Placement> places) {
  std::string found;
  for (const model::Placement& place : places) {
    std::string text;
    switch (place.kind) {
      case Placement::kBasic: break;  // a field that RequestToken reads
      case Placement::kHeader: text = HeaderToken(head, place); break;
      case Placement::kCookie: text = CookieToken(head.FindHeader("cookie").value_or(""), place.name); break;
      case Placement::kQuery: text = QueryToken(query, place.name); break;
    }
    if (!found.empty() && !text.empty() && found != text) return base::Error(ErrorCode::kAmbiguousToken);
    if (!text.empty()) found = std::move(text);
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

bool HasMisplacedToken(const wire::RequestHead& head, std::string_view query, std::span<const model::Placement> places) {
  const auto placed = [&](Placement kind, auto test) {
    return std::any_of(places.begin(), places.end(), [&](const model::Placement& place) { return place.kind == kind && test(place); });
  };
  if (Mentions(head.target)) {
    const bool once = head.target.find(token::kTokenPrefix) == head.target.rfind(token::kTokenPrefix);
    if (!once || !placed(Placement::kQuery, [&](const auto& place) { return !QueryToken(query, place.name).empty(); })) return true;
  }
  for (const wire::Header& field : head.headers) {
    if (!Mentions(field.value) || wire::IsCredentialHeader(field.name) || wire::IsProxyInternal(field.name)) continue;
    if (!placed(Placement::kHeader, [&](const auto& place) { return wire::EqualsToken(place.name, field.name); })) return true;
  }
  return false;
}

}  // namespace credbroker::edge
