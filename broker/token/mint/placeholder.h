#pragma once

#include <string>
#include <string_view>

#include "token/placeholder.h"

namespace credbroker::token {

// The placeholder of one session: the same session and kind give the same text again. Holds no secret and nothing
// that could be exchanged; two sessions differ. `token::IsPlaceholder` recognises it. Thread-safe.
std::string MakePlaceholder(PlaceholderKind kind, std::string_view session);

}  // namespace credbroker::token
