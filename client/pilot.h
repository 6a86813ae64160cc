#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/command.h"

namespace credbroker::client {

// What one test of the pilot found.
struct PilotFinding {
  std::string id, group, name;  // S38, egress, ...
  bool passed = false;
  std::string detail;
  std::string request_id;  // of the refusal that shows it
};

struct PilotOptions {
  std::string blocked_host = "blocked.credbroker-pilot.test:443";  // in no policy, and no name of any registry
  std::string protected_ref = "refs/heads/main";
  std::vector<std::string> targets;  // HOST:PORT for the way around the edge; empty: public resolvers by address
};

// Runs the tests of the questionnaire inside a sandbox (S38 to S43), and the one that tries to go around the edge (S9). They
// change nothing anywhere: the push names an object that does not exist, so a host that got it would refuse it.
std::vector<PilotFinding> RunPilot(Context& context, const std::string& token, const PilotOptions& options);

// Does this value look like a real credential, whatever its variable is called? Tokens and placeholders of ours do not.
bool LooksLikeCredential(std::string_view value);

}  // namespace credbroker::client
