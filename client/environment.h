#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/settings.h"

namespace credbroker::client {

// What a sandbox's variables are made from.
struct EnvironmentSource {
  std::string token;
  bool by_socket = false;                           // the proxy leads to the session's own socket: no token, no address
  std::string address;                              // of the broker
  std::string api_ca_file;                          // empty: none needed
  std::string proxy_url;                            // http://HOST:PORT
  std::string gateway_url;                          // http://HOST:PORT
  std::string ca_file;                              // the bundle: system roots and the edge's CA
  std::string program;                              // absolute path of this program
  std::vector<std::string> git_hosts;               // host[:port] of the token's repositories
  std::map<std::string, std::string> placeholders;  // variable -> placeholder
};

// In the order in which they are printed.
using Variables = std::vector<std::pair<std::string, std::string>>;

// Every variable that makes unmodified tools go through the edge and trust it (facts: proxy variables in both letter
// cases, one CA variable per tool, git's login method and helper, placeholders). NO_PROXY is empty on purpose: an
// upstream may well be called localhost, and what must not pass the edge is stopped by the network, not by a variable.
// Placeholders never replace a variable of ours, and only names of [A-Z0-9_] are taken.
// Fails kBadToken (text that does not fit a URL), kInternal (URLs that are not http://HOST:PORT).
absl::StatusOr<Variables> MakeVariables(const EnvironmentSource& source);

// The CA variables alone, which need no token.
Variables CaVariables(const std::string& ca_file);

// `export NAME='value'` lines, safe to eval in any POSIX shell.
std::string ShellExports(const Variables& variables);

// True for variables that `run` takes away because they hold or lead to somebody's real credential: a list of known
// names (SSH_AUTH_SOCK, KUBECONFIG, AWS_PROFILE, ...), the admin's access, and every name that ends in _TOKEN,
// _API_KEY, _SECRET, _PASSWORD, _ACCESS_KEY, _CREDENTIALS, _PRIVATE_KEY and the like.
bool IsCredentialVariable(std::string_view name);

// What a command under `run` sees: the parent's variables without credentials (those named in `keep` stay), then ours.
Environment ChildEnvironment(const Environment& parent, const Variables& variables,
                             const std::vector<std::string>& keep);

}  // namespace credbroker::client
