#include "client/token_source.h"

#include <CLI/CLI.hpp>

#include "base/macros.h"
#include "credbroker/v1/session.pb.h"
#include "credbroker/v1/token.pb.h"

namespace credbroker::client {

void AddSessionOptions(CLI::App* leaf, SessionOptions& options) {
  leaf->add_option("--requester", options.requester, "who asks, as the scope's `requesters` name it");
  AddRepeated(leaf, "--scope", options.scopes, "a scope of the policy; repeat for more, they add up");
  leaf->add_option("--phase", options.phase, "setup or agent (default agent)")
      ->check(CLI::IsMember({"setup", "agent"}));
  leaf->add_option("--ttl", options.ttl, "the token's life, like 15m (default and ceiling: the scope's)");
  leaf->add_option("--session-ttl", options.session_ttl, "the session's life (default and ceiling: the scope's)");
  leaf->add_option("--label", options.label, "which workload holds the token (default agent)")
      ->check(CLI::IsMember({"agent", "tool", "setup"}));
  leaf->add_option("--ticket", options.ticket, "your reference, kept in the ledger");
}

absl::Status OpenSession(Context& context, const SessionOptions& options, v1::OpenSessionReply* reply) {
  v1::OpenSessionRequest request;
  request.set_requester(options.requester);
  request.mutable_scopes()->Assign(options.scopes.begin(), options.scopes.end());
  request.set_phase(options.phase);
  request.set_label(options.label);
  request.set_ticket(options.ticket);
  if (!options.ttl.empty()) RETURN_IF_ERROR(SetDuration(options.ttl, request.mutable_token_ttl()));
  if (!options.session_ttl.empty()) RETURN_IF_ERROR(SetDuration(options.session_ttl, request.mutable_session_ttl()));
  return context.broker().OpenSession(request, reply);
}

void AddNarrowingOptions(CLI::App* leaf, TokenOptions& options) {
  leaf->add_option("--ttl", options.ttl, "the token's life, like 15m");
  AddRepeated(leaf, "--method", options.methods, "permit only this HTTP method; repeat for more");
  AddRepeated(leaf, "--repository", options.repositories, "permit only this repository (acme/web); repeat for more");
  AddRepeated(leaf, "--ref", options.refs, "permit pushes only to these refs, as a scope writes them; repeat for more");
  AddRepeated(leaf, "--host", options.hosts, "permit only this host; repeat for more");
}

void SetNarrowing(const TokenOptions& options, v1::Narrowing* narrowing) {
  narrowing->mutable_methods()->Assign(options.methods.begin(), options.methods.end());
  narrowing->mutable_repositories()->Assign(options.repositories.begin(), options.repositories.end());
  narrowing->mutable_refs()->Assign(options.refs.begin(), options.refs.end());
  narrowing->mutable_hosts()->Assign(options.hosts.begin(), options.hosts.end());
}

absl::Status MintToken(Context& context, const std::string& session, const TokenOptions& options,
                       v1::MintTokenReply* reply) {
  v1::MintTokenRequest request;
  request.set_session(session);
  request.set_label(options.label);
  SetNarrowing(options, request.mutable_narrowing());
  if (!options.ttl.empty()) RETURN_IF_ERROR(SetDuration(options.ttl, request.mutable_ttl()));
  return context.broker().MintToken(request, reply);
}

}  // namespace credbroker::client
