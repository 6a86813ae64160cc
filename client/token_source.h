#pragma once

#include <string>
#include <vector>

#include "client/command.h"

namespace credbroker::v1 {
class Narrowing;
}

namespace credbroker::client {

// The arguments that open a session.
struct SessionOptions {
  std::string requester, phase, ttl, session_ttl, label, ticket;
  std::vector<std::string> scopes;
};

// Adds them to a sub-command; none is required. `options` outlives the parse.
void AddSessionOptions(CLI::App* leaf, SessionOptions& options);

// Opens a session. Fails kBadDuration, and as the broker's OpenSession.
absl::Status OpenSession(Context& context, const SessionOptions& options, v1::OpenSessionReply* reply);

// Further tokens of a session.
struct TokenOptions {
  std::string ttl, label;
  std::vector<std::string> methods, repositories, refs, hosts;
};
void AddNarrowingOptions(CLI::App* leaf, TokenOptions& options);
void SetNarrowing(const TokenOptions& options, v1::Narrowing* narrowing);

// Mints a token for an open session. Fails kBadDuration, and as the broker's MintToken.
absl::Status MintToken(Context& context, const std::string& session, const TokenOptions& options,
                       v1::MintTokenReply* reply);

}  // namespace credbroker::client
