#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "client/json.h"

namespace credbroker::client {

// The catalogue's entry of a record's `code`; null for a word that it does not have.
const base::ErrorEntry* FindError(std::string_view name);

// A record (RecordJson) as sentences for people: who asked for what, what was decided by which rule, what came of it, and
// for a refusal what to do. Texts of strangers in it are still to be escaped. Pure, thread-safe.
std::vector<std::string> RecordWords(const Json& record);

// A request's method and address, or the git operation: `push acme/web: update refs/heads/x`.
std::string AskedWords(const Json& record);

}  // namespace credbroker::client
