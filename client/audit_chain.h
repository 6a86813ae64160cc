#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/json.h"

namespace credbroker::client {

class Broker;

// Everything that a record hangs on, back to its beginnings: the records of its request, the tokens that it was made
// with (the oldest first), its session, the policy version that decided with who applied it, and the exception that it
// used. As an object `{record, request, tokens, session, policy, exception, summary}`; a part that the ledgers do not
// hold, or that the caller may not see, is empty. Fails as the broker's GetRecord.
absl::StatusOr<Json> RecordChain(Broker& broker, const std::string& id);

// The same for people.
std::string ChainText(const Json& chain);

}  // namespace credbroker::client
