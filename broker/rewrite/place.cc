#include "rewrite/place.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "reveal/secret_reveal.h"
#include "wire/http_writer.h"
#include "model/target.h"
#include "wire/query.h"

namespace credbroker::rewrite {
namespace {

using Kind = model::Placement::Kind;

absl::Status Invalid(const char* detail) { return base::Error(base::ErrorCode::kSecretInvalid, detail); }

// Grows into new memory and wipes the old, so that no half-written head with a secret in it stays in the heap.
void Reserve(std::size_t extra, std::string* out) {
  if (out->capacity() - out->size() >= extra) return;
  std::string larger;
  larger.reserve(2 * (out->size() + extra));
  larger.append(*out);
  base::WipeString(*out);
  out->swap(larger);
}

bool IsVisible(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

// Spaces inside are for prefixes such as `Token token=`; a value that begins or ends with one would change on the way.
bool IsHeaderSecret(std::string_view value) {
  return wire::IsFieldValue(value) && !value.empty() && value.front() > ' ' && value.back() > ' ' &&
         value.find('\t') == std::string_view::npos;
}

// RFC 6265 section 4.1.1.
bool IsCookieValue(std::string_view value) {
  return IsVisible(value) && value.find_first_of("\",;\\") == std::string_view::npos;
}

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

absl::Status AppendBasic(std::string_view username, std::string_view secret, std::string* out) {
  if (username.find(':') != std::string_view::npos || HasControl(username)) return Invalid("the Basic user name");
  if (secret.empty() || HasControl(secret)) return Invalid("the credential is empty or has control bytes");
  std::string login;
  login.reserve(username.size() + 1 + secret.size());
  login.append(username).append(":").append(secret);
  std::string encoded = base::Base64Encode(login);
  base::WipeString(login);
  Reserve(encoded.size() + 32, out);
  out->append("authorization: Basic ").append(encoded).append("\r\n");
  base::WipeString(encoded);
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendCredentialHeader(const model::Placement& placement, const base::Secret& secret, std::string* out) {
  const std::string_view value = secret.Reveal(base::SecretReveal{});
  if (placement.kind == Kind::kQuery) return base::Error(base::ErrorCode::kInternal, "a query placement is no header");
  if (placement.kind == Kind::kBasic) return AppendBasic(placement.username, value, out);
  const bool cookie = placement.kind == Kind::kCookie;
  if (!wire::IsToken(placement.name)) return Invalid("the placement's name is no token");
  if (cookie ? !IsCookieValue(value) : !IsHeaderSecret(value))
    return Invalid("the credential has bytes that its place cannot hold");
  if (!cookie && !wire::IsFieldValue(placement.prefix)) return Invalid("the placement's prefix has control bytes");

  Reserve(placement.name.size() + placement.prefix.size() + value.size() + 16, out);
  if (cookie) {
    out->append("cookie: ").append(placement.name).append("=").append(value).append("\r\n");
    return absl::OkStatus();
  }
  out->append(placement.name).append(": ").append(placement.prefix).append(value).append("\r\n");
  return absl::OkStatus();
}

absl::Status AppendTargetWithCredential(const model::Placement& placement, const base::Secret& secret,
                                        std::string_view resource, std::string* out) {
  if (placement.kind != Kind::kQuery) {
    out->append(resource);
    return absl::OkStatus();
  }
  const std::string_view value = secret.Reveal(base::SecretReveal{});
  if (!IsVisible(value) || placement.name.empty())
    return Invalid("the credential or its parameter name cannot stand in a query");
  const model::Target parts = model::SplitTarget(resource);
  ASSIGN_OR_RETURN(const std::vector<wire::QueryParameter> parameters, wire::ParseQuery(parts.query.value_or("")));
  const auto others = std::count_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name != placement.name; });
  if (static_cast<std::size_t>(others) == wire::kMaxQueryParameters) {
    return base::Error(base::ErrorCode::kMalformedHttp, "no room for the credential's query parameter");
  }

  const std::string name = wire::PercentEncode(placement.name);
  std::string encoded = wire::PercentEncode(value);
  Reserve(resource.size() + name.size() + encoded.size() + 8, out);
  out->append(parts.path);
  char separator = '?';
  for (const wire::QueryParameter& parameter : parameters) {
    if (parameter.name == placement.name) continue;
    out->push_back(std::exchange(separator, '&'));
    out->append(parameter.raw);
  }
  out->push_back(separator);
  out->append(name).append("=").append(encoded);
  base::WipeString(encoded);
  return absl::OkStatus();
}

std::string PlacedHeaderName(const model::Placement& placement) {
  switch (placement.kind) {
    case Kind::kBasic:
      return "authorization";
    case Kind::kCookie:
      return "cookie";
    case Kind::kHeader:
      return base::AsciiLower(placement.name);
    case Kind::kQuery:
      return {};
  }
  return {};
}

}  // namespace credbroker::rewrite
