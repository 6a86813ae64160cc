#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/body.h"
#include "policy/catalogue.h"
#include "policy/explain.h"

namespace credbroker::forge {

// Whether a Content-Type value is JSON for sure: `application/json`, with `charset=utf-8` or nothing behind it.
bool IsJsonType(std::string_view content_type);

// Reads a whole decoded body for its operation's rule. An empty body has no members. Fails kBodyUndecided (not one JSON object,
// read strictly: wire/json.h), kBadDocument (GraphQL: wire/graphql.h, forge/graphql_facts.h). Limits: 1 MiB, 20,000 values.
absl::StatusOr<std::shared_ptr<const model::BodyFacts>> ReadBody(policy::BodyRule rule, std::string_view body);

// Puts a body's text into a question. GraphQL is known by the URL's path. What cannot be read is answered as a refusal.
void FillBody(std::string_view body, policy::Question* question);

}  // namespace credbroker::forge
