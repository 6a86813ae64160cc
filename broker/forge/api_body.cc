#include "forge/api_body.h"

#include "base/error.h"
#include "base/macros.h"
#include "base/text.h"
#include "forge/graphql_facts.h"
#include "wire/json.h"

namespace credbroker::forge {
namespace {

using base::ErrorCode;
using model::BodyFacts;
using model::BodyField;

BodyField::Kind KindOf(wire::JsonValue::Kind kind) {
  switch (kind) {
    case wire::JsonValue::Kind::kString: return BodyField::Kind::kString;
    case wire::JsonValue::Kind::kNumber: return BodyField::Kind::kNumber;
    case wire::JsonValue::Kind::kTrue: return BodyField::Kind::kTrue;
    case wire::JsonValue::Kind::kFalse: return BodyField::Kind::kFalse;
    case wire::JsonValue::Kind::kNull: return BodyField::Kind::kNull;
    case wire::JsonValue::Kind::kObject: return BodyField::Kind::kObject;
    case wire::JsonValue::Kind::kArray: return BodyField::Kind::kArray;
  }
  return BodyField::Kind::kNull;
}

}  // namespace

bool IsJsonType(std::string_view content_type) {
  const std::string lower = base::AsciiLower(content_type);
  return lower == "application/json" || lower == "application/json; charset=utf-8" || lower == "application/json;charset=utf-8";
}

absl::StatusOr<std::shared_ptr<const BodyFacts>> ReadBody(policy::BodyRule rule, std::string_view body) {
  auto out = std::make_shared<BodyFacts>();
  std::vector<wire::JsonValue> values;
  if (!body.empty()) RETURN_IF_ERROR(wire::ReadJson(body, {}, &values));
  if (!values.empty() && values.front().kind != wire::JsonValue::Kind::kObject) return base::Error(ErrorCode::kBodyUndecided, "not an object");
  for (wire::JsonValue& value : values) out->members.push_back({std::move(value.path), KindOf(value.kind), std::move(value.text)});
  if (!out->members.empty()) out->members.erase(out->members.begin());
  if (rule != policy::BodyRule::kGraphql) return out;
  ASSIGN_OR_RETURN(out->operation, ReadOperation(*out));
  out->graphql = true;
  out->members.clear();
  return out;
}

void FillBody(std::string_view body, policy::Question* question) {
  if (body.empty()) return;
  const std::string_view path = std::string_view(question->url).substr(0, question->url.find_first_of("?#"));
  const bool graphql = question->method == "POST" && path.ends_with("/graphql");
  auto read = ReadBody(graphql ? policy::BodyRule::kGraphql : policy::BodyRule::kText, body);
  question->body_error = base::CodeOf(read.status());
  if (read.ok()) question->body = *std::move(read);
}

}  // namespace credbroker::forge
