#pragma once

#include <string>
#include <string_view>

#include "model/facts.h"
#include "model/grant.h"

namespace credbroker::policy {

// Whether a token's narrowing lets an otherwise allowed request through. `repository` is the one that the request
// names, or empty. For pushes `*ref` becomes the first ref that it refuses. Entries that cannot be read permit nothing.
bool Permits(const model::Narrowing& narrowing, const model::Facts& facts, std::string_view repository,
             std::string_view session, std::string* ref);

// The pieces, for outlines.
bool PermitsMethod(const model::Narrowing& narrowing, std::string_view method);
bool PermitsHost(const model::Narrowing& narrowing, const model::Authority& authority);
bool PermitsRepository(const model::Narrowing& narrowing, std::string_view repository);

// True when more than the host is narrowed. What passes through a tunnel cannot be seen, so no tunnel then.
bool NarrowsContent(const model::Narrowing& narrowing);

}  // namespace credbroker::policy
