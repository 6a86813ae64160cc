#include "edge/lfs_links.h"

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "model/target.h"
#include "nlohmann/json.hpp"
#include "reveal/secret_reveal.h"
#include "token/claims.h"
#include "wire/hop.h"
#include "wire/http_head.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using Json = nlohmann::json;

constexpr std::size_t kMaxLinkBytes = 6000;  // beside the path, within a target's 8 KiB
constexpr std::size_t kMaxFields = 32;

absl::Status NotOurs(std::string_view why) { return base::Error(ErrorCode::kLfsNotAllowed, why); }
absl::Status Malformed(std::string_view why) { return base::Error(ErrorCode::kUpstreamMalformed, why); }

std::string Associated(std::string_view oid, std::string_view binding) { return base::StrCat("lfs\n", oid, "\n", binding); }

bool IsFieldName(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == std::string_view::npos;
}

bool IsFieldValue(std::string_view value) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  }
  return value.size() <= 8192;
}

// What the edge writes itself, or what would end at the next hop.
bool IsOurField(std::string_view name) {
  return wire::IsHopByHop(name) || wire::IsProxyInternal(name) || wire::EqualsToken(name, "host") || wire::EqualsToken(name, "content-length") ||
         wire::EqualsToken(name, "expect") || wire::EqualsToken(name, "accept-encoding");
}

// `https://host[:port]/path[?query]`
absl::Status ReadAddress(std::string_view href, LfsGrant* out) {
  if (href.starts_with("http://")) out->scheme = model::Scheme::kHttp;
  const std::size_t head = out->scheme == model::Scheme::kHttp ? 7 : 8;
  if (head == 8 && !href.starts_with("https://")) return Malformed("an LFS address");
  href.remove_prefix(head);
  const std::size_t end = std::min(href.find_first_of("/?#"), href.size());
  ASSIGN_OR_RETURN(out->storage, model::ParseAuthority(href.substr(0, end), static_cast<uint16_t>(head == 7 ? 80 : 443)));
  href.remove_prefix(end);
  href = href.substr(0, href.find('#'));
  const model::Target target = model::SplitTarget(href);
  out->path = target.path.empty() ? "/" : std::string(target.path);
  // Not model::CheckPath: storage names are the host's own, and no rule reads them. They must stand in a request line.
  for (const char c : href) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7F) return Malformed("an LFS address");
  }
  out->query = base::Secret::Copy(target.query ? href.substr(target.path.size()) : std::string_view());
  return absl::OkStatus();
}

void WipeTexts(Json* value) {
  if (value->is_string()) return base::WipeString(value->get_ref<std::string&>());
  if (!value->is_structured()) return;
  for (Json& one : *value) WipeTexts(&one);
}

}  // namespace

absl::StatusOr<std::string> LfsLinks::Make(const wire::LfsObject& object, const wire::LfsAction& action, std::string_view ref, std::string_view binding,
                                           absl::Time expires) const {
  LfsGrant read;
  RETURN_IF_ERROR(ReadAddress(action.href, &read));
  Json json = {{"kind", static_cast<int>(action.kind)}, {"size", object.size}, {"ref", ref}, {"href", action.href}, {"until", absl::ToUnixSeconds(expires)}, {"fields", Json::array()}};
  if (action.header.size() > kMaxFields) return Malformed("LFS fields");
  for (const auto& [name, value] : action.header) {
    if (!IsFieldName(name) || !IsFieldValue(value)) return Malformed("an LFS field");
    if (!IsOurField(name)) json["fields"].push_back({name, value});
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  WipeTexts(&json);
  const base::Secret plain = base::Secret::Take(std::move(text));
  std::string query;
  do {  // a text in which somebody could see a token of ours would be refused: the next nonce gives another one
    query = base::StrCat(kParameter, base::Base64UrlEncode(crypto::Seal(key_, plain, Associated(object.oid, binding))));
  } while (query.find(token::kTokenPrefix) != std::string::npos);
  if (query.size() > kMaxLinkBytes) return base::Error(ErrorCode::kUriTooLong, "an LFS link");
  return query;
}

absl::StatusOr<LfsGrant> LfsLinks::Open(std::string_view query, std::string_view oid, std::string_view binding, absl::Time now) const {
  std::string sealed;
  if (!query.starts_with(kParameter) || !base::Base64UrlDecode(query.substr(kParameter.size()), &sealed)) return NotOurs("no link of ours");
  const auto text = crypto::Open(key_, sealed, Associated(oid, binding));
  if (!text.ok()) return NotOurs("a link for something else");
  const std::string_view bytes = text->Reveal(base::SecretReveal());
  Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, false);  // our own words
  LfsGrant out;
  out.kind = static_cast<wire::LfsAction::Kind>(json.value("kind", 0));
  out.object = {std::string(oid), json.value("size", uint64_t{0})};
  out.ref = json.value("ref", "");
  const bool expired = absl::FromUnixSeconds(json.value("until", int64_t{0})) <= now;
  std::string href = json.value("href", "");
  const absl::Status address = ReadAddress(href, &out);
  base::WipeString(href);
  for (Json& field : json["fields"]) {
    out.fields.emplace_back(field[0].get<std::string>(), base::Secret::Copy(field[1].get_ref<const std::string&>()));
  }
  WipeTexts(&json);
  if (expired || !address.ok()) return NotOurs("an expired link");
  return out;
}

}  // namespace credbroker::edge
