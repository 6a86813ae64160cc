#pragma once

#include "absl/status/statusor.h"
#include "model/body.h"

namespace credbroker::forge {

// The one operation of a GraphQL request, as it would run: fragments in place, variables filled in, aliases beside names.
// `body` holds the members of the JSON object: `query`, `variables`, `operationName` and no others. What `@include` and `@skip`
// may leave out counts as selected. Fails kBadDocument: a document that does not parse (wire/graphql.h), not exactly one operation,
// a subscription, another operationName, unknown or circular fragments, unknown variables, other directives, and more than 5,000
// selected fields or 20,000 argument values.
absl::StatusOr<model::GraphqlFacts> ReadOperation(const model::BodyFacts& body);

}  // namespace credbroker::forge
