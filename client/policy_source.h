#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "policy/rule_set.h"

namespace credbroker::client {

class Broker;

// A version of the policy as the broker keeps it, loaded here; 0: the one in force. Fails as GetPolicy, kPolicyInvalid.
absl::StatusOr<std::shared_ptr<const policy::RuleSet>> FetchRules(Broker& broker, int64_t version);

// A policy's file or folder. Fails as policy::ReadPolicySource, kPolicyInvalid.
absl::StatusOr<std::shared_ptr<const policy::RuleSet>> LoadRules(const std::string& path);

}  // namespace credbroker::client
