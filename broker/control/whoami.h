#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "control/current_rules.h"
#include "control/revocations.h"
#include "policy/outline.h"
#include "store/store.h"
#include "token/claims.h"

namespace credbroker::control {

// What a holder's token permits now (S41). Holds no secret.
struct WhoAmI {
  store::Session session;
  store::TokenRow token;
  token::Claims claims;
  policy::Outline outline;
  std::map<std::string, std::string> placeholders;  // environment variable -> placeholder
  int64_t policy_version = 0;
};

// From the same rules that Decide uses, less what was revoked for tokens as old as this one. Fails as the store.
absl::StatusOr<WhoAmI> DescribeHolder(const token::Claims& holder, store::Store& store, const CurrentRules& rules,
                                      const Revocations& revocations, absl::Time now);

}  // namespace credbroker::control
