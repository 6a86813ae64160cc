#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/api_verdict.h"

namespace credbroker::policy {

// Judges one GraphQL operation: every root field, and all that is selected below it.
//
// Queries: `repository(owner:, name:)` of granted repositories as `read`; `rateLimit`, `viewer` (who am I, no further) and the
// schema's own fields as `read-host`; all other roots (`node`, `nodes`, `search`, `user`, `organization` ...) reach anything and
// are refused. Below `repository` only fields stay allowed that are listed as staying inside it; a field that leads out
// (`owner`, `author`, `headRepository`) may be asked for what names the thing, and no more.
//
// Mutations: by the class of graphql_mutations.def; unknown ones are refused. Each node id among the arguments must be known to
// belong to one granted repository (GraphqlFacts::nodes).
ApiVerdict JudgeGraphql(const ApiCase& request, std::string* repository);

// Where an answer to the operation holds ids of nodes that belong to the repository it is about: paths of answer keys with `*`
// for elements, `data/repository/issue/id`. Empty for operations about no or several repositories. `*repository` in lower case.
std::vector<std::string> NodeIdPaths(const model::GraphqlFacts& operation, std::string* repository);

// The class of a mutation; empty when it is not known.
std::string_view MutationClass(std::string_view name);

// All known mutations, `name class`, for reports.
std::vector<std::string> MutationReport();

}  // namespace credbroker::policy
