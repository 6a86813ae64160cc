#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/command.h"
#include "client/environment.h"

namespace credbroker::client {

// What `env`, `run` and `git-credential` need to know about the way to the edge. Fails as the broker's GetConnection.
struct EdgeConnection {
  std::string proxy_url, gateway_url, ca_pem;
};
absl::StatusOr<EdgeConnection> AskConnection(Context& context);

// What they need to know about a token. Fails as the broker's WhoAmI.
struct HolderOutline {
  std::vector<std::string> git_hosts;
  std::map<std::string, std::string> placeholders;
};
absl::StatusOr<HolderOutline> AskHolder(Context& context, const std::string& token);

// Writes the CA bundle (see WriteBundle) and makes the variables for `token`.
absl::StatusOr<Variables> VariablesFor(Context& context, const std::string& token, const std::string& ca_out);

// The same for a sandbox that reaches the session's own socket through a forwarder at `through` (HOST:PORT): without a token.
// Fails kBadArgument when the session has no socket.
absl::StatusOr<Variables> VariablesThrough(Context& context, const std::string& session, const std::string& through, const std::string& ca_out);

}  // namespace credbroker::client
