#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace credbroker::model {

// Setup may have network that the agent does not have later. Phases move forward only (S63).
enum class Phase { kSetup, kAgent };
// Which workload holds the token (S10).
enum class Label { kAgent, kTool, kSetup };

std::string_view PhaseName(Phase phase);  // "setup", "agent"
std::string_view LabelName(Label label);  // "agent", "tool", "setup"
absl::StatusOr<Phase> ParsePhase(std::string_view text);  // kBadArgument
absl::StatusOr<Label> ParseLabel(std::string_view text);  // kBadArgument

// What a token permits less than its session. An empty list narrows nothing. Several entries of one list add up;
// the lists all hold at once.
struct Narrowing {
  std::vector<std::string> repositories;  // `acme/web`: without case, with or without .git
  std::vector<std::string> refs;          // ref patterns as in a scope; concerns pushes
  std::vector<std::string> methods;       // HTTP methods, upper case
  std::vector<std::string> hosts;         // host or host:port
  bool empty() const { return repositories.empty() && refs.empty() && methods.empty() && hosts.empty(); }
  bool operator==(const Narrowing&) const = default;
};

// What a verified token permits now: its session's scopes, narrowed by the token. A plain value; the scopes are names
// that the policy in force gives meaning to.
struct Grant {
  std::string token_id;
  std::string parent_id;  // empty for a token that was not derived
  std::string session;
  std::string requester;
  Phase phase = Phase::kAgent;
  Label label = Label::kAgent;
  std::vector<std::string> scopes;
  Narrowing narrowing;
  absl::Time expires_at;
};

}  // namespace credbroker::model
