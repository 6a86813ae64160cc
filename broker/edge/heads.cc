#include "edge/heads.h"

#include <algorithm>
#include <array>

#include "base/macros.h"
#include "base/text.h"
#include "reveal/secret_reveal.h"
#include "rewrite/place.h"
#include "token/claims.h"
#include "token/placeholder.h"
#include "wire/basic_auth.h"
#include "wire/hop.h"
#include "wire/http_writer.h"

namespace credbroker::edge {
namespace {

using wire::EqualsToken;
using wire::Framing;
using wire::Header;

// Fields that we write ourselves.
bool IsOurs(std::string_view name) {
  return EqualsToken(name, "host") || EqualsToken(name, "content-length") || EqualsToken(name, "expect");
}

bool HoldsToken(std::string_view value) { return value.find(token::kTokenPrefix) != std::string_view::npos; }

// A Basic login may hold our token in base64, where a search does not see it: every credential field that identity.cc
// would read a token from is dropped when the host is managed; elsewhere only those with our token.
bool CarriesOurToken(const Header& field);

// The granted place itself, with `-` and `_` taken as one: a second value there would be somebody else's (CVE-2026-105452).
bool IsGrantedPlace(std::string_view name, std::string_view granted) {
  return name.size() == granted.size() && std::equal(name.begin(), name.end(), granted.begin(), [](char a, char b) {
           return wire::EqualsToken({&a, 1}, {&b, 1}) || (a == '_' && b == '-') || (a == '-' && b == '_');
         });
}

// A stand-in that nothing has replaced: it opens nothing, and tells strangers of us.
bool CarriesPlaceholder(const Header& field) {
  if (!wire::IsCredentialHeader(field.name)) return false;
  if (token::IsPlaceholder(field.value)) return true;
  const auto login = wire::ParseAuthorization(field.value);
  return login.ok() && (token::IsPlaceholder(login->value) || token::IsPlaceholder(login->password) || token::IsPlaceholder(login->user));
}

bool GoesOn(const Header& field, std::string_view connection, std::string_view granted, const model::Allow& allow, const BodyPlan& body) {
  if (IsOurs(field.name) || wire::EndsHere(field.name, connection) || wire::IsProxyInternal(field.name)) return false;
  if (wire::IsForwardingHeader(field.name)) return false;
  if (HoldsToken(field.value) || CarriesOurToken(field) || IsGrantedPlace(field.name, granted)) return false;
  if (body.drop_coding && EqualsToken(field.name, "content-encoding")) return false;
  if (!allow->managed) return !CarriesPlaceholder(field);
  if (wire::IsCredentialHeader(field.name)) return false;
  return allow->credential == nullptr || !EqualsToken(field.name, "accept-encoding");
}

bool CarriesOurToken(const Header& field) {
  if (!EqualsToken(field.name, "authorization") || field.value.size() < 7 || !EqualsToken(field.value.substr(0, 6), "basic ")) return false;
  std::string decoded;
  const bool ours = base::Base64Decode(field.value.substr(6), &decoded) && HoldsToken(decoded);
  base::WipeString(decoded);
  return ours;
}

void AppendFraming(const BodyPlan& body, std::string* out) {
  if (body.framing == Framing::kLength) wire::AppendHeader("content-length", body.length, out);
  if (body.framing == Framing::kChunked) wire::AppendHeader("transfer-encoding", "chunked", out);
  if (body.expect_continue) wire::AppendHeader("expect", "100-continue", out);
}

// What an upstream says about the credential it was shown.
constexpr std::array<std::string_view, 8> kTelling = {
    "set-cookie",           "x-oauth-scopes",       "x-accepted-oauth-scopes",
    "x-oauth-client-id",    "authentication-info",  "github-authentication-token-expiration",
    "x-github-sso",         "x-accepted-github-permissions"};

bool IsTelling(std::string_view name) {
  return std::any_of(kTelling.begin(), kTelling.end(), [&](std::string_view known) { return EqualsToken(name, known); });
}

void AppendScrubbed(const Header& field, const gate::Lease* lease, std::string* out) {
  const bool clean = lease == nullptr || lease->scrub->SafePrefix(field.value) == field.value.size();
  if (clean) return wire::AppendHeader(field.name, field.value, out);
  rewrite::Scrubber scrubber(lease->scrub);
  std::string value;
  scrubber.Feed(field.value, &value);
  scrubber.Finish(&value);
  wire::AppendHeader(field.name, value, out);
}

}  // namespace

absl::Status AppendUpstreamHead(const wire::RequestHead& head, const Request& request, const gate::Passage& passage,
                                const BodyPlan& body, std::string* out, OwnFields own) {
  const model::Allow& allow = passage.allow();
  const gate::Lease* lease = passage.lease();
  const bool in_query = lease != nullptr && allow->credential->placement.kind == model::Placement::Kind::kQuery;
  std::string resource = request.Resource();
  if (in_query) {
    std::string placed;
    RETURN_IF_ERROR(rewrite::AppendTargetWithCredential(allow->credential->placement, lease->secret, resource, &placed));
    resource.swap(placed);
    base::WipeString(placed);
  }
  out->reserve(out->size() + 512 + resource.size());
  wire::AppendRequestLine(head.method, resource, out);
  if (in_query) base::WipeString(resource);
  const uint16_t default_port = request.facts.scheme == model::Scheme::kHttps ? 443 : 80;
  wire::AppendHeader("host", request.facts.authority.Text(default_port), out);
  const auto is_own = [own](std::string_view name) { return std::any_of(own.begin(), own.end(), [&](const auto& f) { return EqualsToken(f.first, name); }); };
  for (const auto& [name, value] : own) wire::AppendHeader(name, value.Reveal(base::SecretReveal()), out);
  if (lease != nullptr && !in_query && !is_own("authorization")) RETURN_IF_ERROR(rewrite::AppendCredentialHeader(allow->credential->placement, lease->secret, out));

  const std::string_view connection = head.FindHeader("connection").value_or("");
  const std::string granted = lease == nullptr ? std::string() : rewrite::PlacedHeaderName(allow->credential->placement);
  for (const Header& field : head.headers) {
    if (request.websocket && wire::IsWebSocketHeader(field.name)) continue;
    if (!is_own(field.name) && GoesOn(field, connection, granted, allow, body)) wire::AppendHeader(field.name, field.value, out);
  }
  // Identity only: in a coded answer the credential could come back unseen.
  if (lease != nullptr) wire::AppendHeader("accept-encoding", "identity", out);
  if (request.websocket) wire::AppendWebSocketAsk(*request.websocket, out);
  AppendFraming(body, out);
  wire::AppendHeadEnd(out);
  return absl::OkStatus();
}

void AppendClientHead(const wire::ResponseHead& head, const gate::Passage& passage, const ReplyPlan& plan, std::string* out) {
  wire::AppendStatusLine(head.status, out);
  const std::string_view connection = head.FindHeader("connection").value_or("");
  const bool managed = passage.allow()->managed;
  for (const Header& field : head.headers) {
    if (wire::EndsHere(field.name, connection) || wire::IsProxyInternal(field.name)) continue;
    if (plan.location && EqualsToken(field.name, "location")) continue;
    if (EqualsToken(field.name, "content-length") || (managed && IsTelling(field.name))) continue;
    AppendScrubbed(field, passage.lease(), out);
  }
  const bool says_length = plan.framing == Framing::kLength ||
                           (plan.framing == Framing::kNone && head.status >= 200 && head.status != 204 && head.FindHeader("content-length"));
  if (says_length) wire::AppendHeader("content-length", head.content_length, out);
  if (plan.location && !plan.location->empty()) wire::AppendHeader("location", *plan.location, out);
  if (plan.framing == Framing::kChunked) wire::AppendHeader("transfer-encoding", "chunked", out);
  if (plan.close) wire::AppendHeader("connection", "close", out);
  if (plan.switches) {
    wire::AppendHeader("upgrade", "websocket", out);
    wire::AppendHeader("connection", "Upgrade", out);
  }
  wire::AppendHeadEnd(out);
}

}  // namespace credbroker::edge
