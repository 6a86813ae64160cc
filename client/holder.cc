#include "client/holder.h"

#include "base/macros.h"
#include "client/ca_bundle.h"
#include "client/token_source.h"
#include "credbroker/v1/session.pb.h"
#include "credbroker/v1/status.pb.h"
#include "credbroker/v1/token.pb.h"

namespace credbroker::client {

absl::StatusOr<EdgeConnection> AskConnection(Context& context) {
  v1::GetConnectionReply reply;
  RETURN_IF_ERROR(context.broker().GetConnection({}, &reply));
  return EdgeConnection{reply.proxy_url(), reply.gateway_url(), reply.ca_pem()};
}

absl::StatusOr<HolderOutline> AskHolder(Context& context, const std::string& token) {
  v1::WhoAmIReply reply;
  RETURN_IF_ERROR(context.broker().WhoAmI({}, &reply, token));
  HolderOutline outline;
  for (const auto& repository : reply.repositories()) outline.git_hosts.push_back(repository.host());
  outline.placeholders.insert(reply.placeholders().begin(), reply.placeholders().end());
  return outline;
}

absl::StatusOr<Variables> VariablesFor(Context& context, const std::string& token, const std::string& ca_out) {
  ASSIGN_OR_RETURN(HolderOutline holder, AskHolder(context, token));
  ASSIGN_OR_RETURN(const EdgeConnection edge, AskConnection(context));
  if (edge.proxy_url.empty()) return base::Error(base::ErrorCode::kNoEdge);
  const Environment& environment = context.host().environment;
  ASSIGN_OR_RETURN(const std::string bundle, MakeBundle(edge.ca_pem));
  ASSIGN_OR_RETURN(const std::string ca_file, WriteBundle(bundle, ca_out, environment));

  const Settings& settings = context.settings();
  std::string api_ca_file = settings.api_ca_file;
  if (!settings.local && api_ca_file.empty() && !settings.api_ca_pem.empty()) {
    // The access file itself must not reach the sandbox; the CA inside it may.
    ASSIGN_OR_RETURN(api_ca_file, WriteCached("api-ca", settings.api_ca_pem, environment));
  }
  return MakeVariables({.token = token,
                        .address = settings.address,
                        .api_ca_file = std::move(api_ca_file),
                        .proxy_url = edge.proxy_url,
                        .gateway_url = edge.gateway_url,
                        .ca_file = ca_file,
                        .program = context.host().program,
                        .git_hosts = std::move(holder.git_hosts),
                        .placeholders = std::move(holder.placeholders)});
}

absl::StatusOr<Variables> VariablesThrough(Context& context, const std::string& session, const std::string& through, const std::string& ca_out) {
  v1::GetSessionRequest get;
  v1::GetSessionReply found;
  get.set_id(session);
  RETURN_IF_ERROR(context.broker().GetSession(get, &found));
  if (found.session().socket().empty()) {
    return base::Error(base::ErrorCode::kBadArgument, "the session has no socket: `edge: {session_sockets: true}` in the broker's configuration makes them");
  }
  // A token for this one question, which tells what the session may do; nobody else gets to see it.
  v1::MintTokenReply minted;
  RETURN_IF_ERROR(MintToken(context, session, {.ttl = "1m"}, &minted));
  absl::StatusOr<HolderOutline> holder = AskHolder(context, minted.token().text());
  v1::RevokeTokenRequest revoke;
  v1::RevokeTokenReply revoked;
  RETURN_IF_ERROR(context.broker().RevokeToken(revoke, &revoked, minted.token().text()));
  RETURN_IF_ERROR(holder.status());
  ASSIGN_OR_RETURN(const EdgeConnection edge, AskConnection(context));
  ASSIGN_OR_RETURN(const std::string bundle, MakeBundle(edge.ca_pem));
  ASSIGN_OR_RETURN(const std::string ca_file, WriteBundle(bundle, ca_out, context.host().environment));
  const std::string url = "http://" + through;
  return MakeVariables({.token = {},
                        .by_socket = true,
                        .address = {},
                        .api_ca_file = {},
                        .proxy_url = url,
                        .gateway_url = url,
                        .ca_file = ca_file,
                        .program = context.host().program,
                        .git_hosts = std::move(holder->git_hosts),
                        .placeholders = std::move(holder->placeholders)});
}

}  // namespace credbroker::client
