#include "token/claims.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::token {
namespace {

using Json = nlohmann::json;
using base::Error;
using base::ErrorCode;

constexpr std::size_t kMaxField = 200;
constexpr std::size_t kMaxListEntries = 64;
constexpr int64_t kLastSecond = 253402300799;  // the end of year 9999, the last that RFC 3339 can write

absl::Status BadToken(std::string_view why) { return Error(ErrorCode::kBadToken, why); }
absl::Status BadArgument(std::string_view why) { return Error(ErrorCode::kBadArgument, why); }

// Printable ASCII without the two characters that JSON escapes: then there is one way to write each string.
bool IsField(std::string_view text) {
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  return !text.empty() && text.size() <= kMaxField && std::all_of(text.begin(), text.end(), plain);
}

bool IsList(const std::vector<std::string>& list) {
  return list.size() <= kMaxListEntries && std::all_of(list.begin(), list.end(), IsField);
}

// Writes `"key":value` members; the caller keeps the keys in order.
class ObjectWriter {
 public:
  void Text(std::string_view key, std::string_view value) { base::StrAppend(&Key(key), '"', value, '"'); }
  void Number(std::string_view key, int64_t value) { base::StrAppend(&Key(key), value); }
  void Raw(std::string_view key, std::string_view json) { Key(key).append(json); }
  void List(std::string_view key, const std::vector<std::string>& list) {
    std::string& out = Key(key);
    out.push_back('[');
    for (const std::string& entry : list) base::StrAppend(&out, out.back() == '[' ? "" : ",", '"', entry, '"');
    out.push_back(']');
  }
  std::string Finish() { return std::move(out_.append("}")); }

 private:
  std::string& Key(std::string_view key) {
    base::StrAppend(&out_, out_.size() == 1 ? "" : ",", '"', key, "\":");
    return out_;
  }
  std::string out_ = "{";
};

absl::Status CheckTimes(const Claims& claims) {
  const int64_t issued = absl::ToUnixSeconds(claims.issued_at);
  const int64_t from = absl::ToUnixSeconds(claims.not_before);
  const int64_t until = absl::ToUnixSeconds(claims.expires_at);
  if (issued <= 0 || from <= 0 || until <= 0 || until > kLastSecond) return BadArgument("a time is out of range");
  if (until <= from || until <= issued) return BadArgument("expiry is not after issue");
  const int64_t longest = absl::ToInt64Seconds(kMaxTokenLife);
  if (until - from > longest || until - issued > longest) return BadArgument("the token would live too long");
  return absl::OkStatus();
}

absl::Status CheckFields(const Claims& claims) {
  for (const std::string* field : {&claims.id, &claims.session, &claims.audience, &claims.requester}) {
    if (!IsField(*field)) return BadArgument("a field is empty, too long or not printable ASCII");
  }
  for (const std::string* field : {&claims.parent_id, &claims.policy_digest}) {
    if (!field->empty() && !IsField(*field)) return BadArgument("a field is too long or not printable ASCII");
  }
  const model::Narrowing& narrowing = claims.narrowing;
  for (const auto* list :
       {&claims.scopes, &narrowing.repositories, &narrowing.refs, &narrowing.methods, &narrowing.hosts}) {
    if (!IsList(*list)) return BadArgument("a list is too long or holds an odd entry");
  }
  return claims.scopes.empty() ? BadArgument("a token needs a scope") : absl::OkStatus();
}

// Takes one member after another out of a parsed object; what is left at the end is unknown. Any mismatch is
// remembered: the caller asks once.
class ObjectReader {
 public:
  explicit ObjectReader(const Json& object) : object_(object), good_(object.is_object()) {}

  std::string Text(const char* key) {
    const Json* value = Take(key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    good_ = false;
    return {};
  }
  std::string OptionalText(const char* key) { return Has(key) ? Text(key) : std::string(); }
  absl::Time Time(const char* key) {
    const Json* value = Take(key);
    if (value != nullptr && value->is_number_unsigned() && value->get<uint64_t>() <= kLastSecond) {
      return absl::FromUnixSeconds(static_cast<int64_t>(value->get<uint64_t>()));
    }
    good_ = false;
    return absl::InfinitePast();
  }
  std::vector<std::string> List(const char* key) {
    const Json* value = Take(key);
    std::vector<std::string> list;
    if (value == nullptr || !value->is_array() || value->size() > kMaxListEntries) {
      good_ = false;
      return list;
    }
    for (const Json& entry : *value) {
      if (!entry.is_string()) good_ = false;
      if (good_) list.push_back(entry.get<std::string>());
    }
    return list;
  }
  std::vector<std::string> OptionalList(const char* key) { return Has(key) ? List(key) : std::vector<std::string>(); }
  const Json* Optional(const char* key) { return Has(key) ? Take(key) : nullptr; }

  bool Done() const { return good_ && taken_ == object_.size(); }

 private:
  bool Has(const char* key) const { return good_ && object_.contains(key); }
  const Json* Take(const char* key) {
    if (!Has(key)) return nullptr;
    ++taken_;
    return &object_[key];
  }

  const Json& object_;
  bool good_;
  std::size_t taken_ = 0;
};

bool ReadNarrowing(const Json& json, model::Narrowing* narrowing) {
  ObjectReader reader(json);
  narrowing->hosts = reader.OptionalList("hosts");
  narrowing->methods = reader.OptionalList("methods");
  narrowing->refs = reader.OptionalList("refs");
  narrowing->repositories = reader.OptionalList("repos");
  return reader.Done();
}

absl::StatusOr<Claims> ReadClaims(const Json& json) {
  ObjectReader reader(json);
  Claims claims;
  claims.audience = reader.Text("aud");
  claims.expires_at = reader.Time("exp");
  claims.issued_at = reader.Time("iat");
  claims.id = reader.Text("jti");
  const std::string label = reader.Text("label");
  const Json* narrow = reader.Optional("narrow");
  claims.not_before = reader.Time("nbf");
  claims.parent_id = reader.OptionalText("parent");
  const std::string phase = reader.Text("phase");
  claims.policy_digest = reader.OptionalText("policy");
  claims.requester = reader.Text("req");
  claims.scopes = reader.List("scopes");
  claims.session = reader.Text("sid");
  if (!reader.Done()) return BadToken("a claim is missing, unknown or of another type");
  if (narrow != nullptr && !ReadNarrowing(*narrow, &claims.narrowing)) return BadToken("the narrowing is malformed");
  const auto parsed_label = model::ParseLabel(label);
  const auto parsed_phase = model::ParsePhase(phase);
  if (!parsed_label.ok() || !parsed_phase.ok()) return BadToken("an unknown label or phase");
  claims.label = *parsed_label;
  claims.phase = *parsed_phase;
  return claims;
}

// Depth is bounded by the claims' own shape, so that hostile nesting costs nothing.
bool TooDeep(std::string_view json) {
  int depth = 0;
  for (const char c : json) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > 8) return true;
  }
  return false;
}

}  // namespace

std::string EncodeNarrowing(const model::Narrowing& narrowing) {
  if (narrowing.empty()) return {};
  ObjectWriter writer;
  if (!narrowing.hosts.empty()) writer.List("hosts", narrowing.hosts);
  if (!narrowing.methods.empty()) writer.List("methods", narrowing.methods);
  if (!narrowing.refs.empty()) writer.List("refs", narrowing.refs);
  if (!narrowing.repositories.empty()) writer.List("repos", narrowing.repositories);
  return writer.Finish();
}

absl::StatusOr<std::string> EncodeClaims(const Claims& claims) {
  RETURN_IF_ERROR(CheckFields(claims));
  RETURN_IF_ERROR(CheckTimes(claims));
  ObjectWriter writer;
  writer.Text("aud", claims.audience);
  writer.Number("exp", absl::ToUnixSeconds(claims.expires_at));
  writer.Number("iat", absl::ToUnixSeconds(claims.issued_at));
  writer.Text("jti", claims.id);
  writer.Text("label", model::LabelName(claims.label));
  if (!claims.narrowing.empty()) writer.Raw("narrow", EncodeNarrowing(claims.narrowing));
  writer.Number("nbf", absl::ToUnixSeconds(claims.not_before));
  if (!claims.parent_id.empty()) writer.Text("parent", claims.parent_id);
  writer.Text("phase", model::PhaseName(claims.phase));
  if (!claims.policy_digest.empty()) writer.Text("policy", claims.policy_digest);
  writer.Text("req", claims.requester);
  writer.List("scopes", claims.scopes);
  writer.Text("sid", claims.session);
  std::string json = writer.Finish();
  if (json.size() > kMaxClaimsJson) return Error(ErrorCode::kTooLarge, "the token's scopes or narrowing are too long");
  return json;
}

absl::StatusOr<Claims> DecodeClaims(std::string_view json) {
  if (json.size() > kMaxClaimsJson || TooDeep(json)) return BadToken("the claims are too large");
  const Json parsed = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  ASSIGN_OR_RETURN(Claims claims, ReadClaims(parsed));
  // Whatever a parser would forgive (doubled keys, spaces, escapes, order) is not what EncodeClaims writes.
  const absl::StatusOr<std::string> canonical = EncodeClaims(claims);
  if (!canonical.ok() || *canonical != json) return BadToken("the claims are not canonical");
  return claims;
}

model::Grant ToGrant(const Claims& claims) {
  model::Grant grant;
  grant.token_id = claims.id;
  grant.parent_id = claims.parent_id;
  grant.session = claims.session;
  grant.requester = claims.requester;
  grant.phase = claims.phase;
  grant.label = claims.label;
  grant.scopes = claims.scopes;
  grant.narrowing = claims.narrowing;
  grant.expires_at = claims.expires_at;
  return grant;
}

}  // namespace credbroker::token
