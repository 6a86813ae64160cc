#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/source.h"

namespace credbroker::control {

// An exception as `credbroker exception add` gives it. Texts as in the policy language.
struct ExceptionWish {
  std::string id, kind, reason, owner, approved_by, expires;
  std::vector<std::string> hosts, addresses, scopes;
};

// Exceptions that are made by command stand in a document of their own within the policy's source, so that a version holds
// all that is in force and its diff, digest and history are those of every other change.
inline constexpr std::string_view kAddedDocument = "exceptions.added.yaml";

// `next` with the added document of `current`, less what `next` itself defines: what was added by command outlives a later
// `apply`. Fails kPolicyInvalid when `next` does not load.
absl::StatusOr<policy::PolicySource> CarryAdded(const policy::PolicySource& current, policy::PolicySource next);

// `source` with one more exception. Fails kExceptionInvalid when a part is missing, or the owner approves it.
absl::StatusOr<policy::PolicySource> WithException(policy::PolicySource source, const ExceptionWish& wish);

// `source` with the exception turned off, or on again.
policy::PolicySource WithExceptionOff(policy::PolicySource source, std::string_view id, bool off);

}  // namespace credbroker::control
