#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/table.h"
#include "client/token_source.h"
#include "credbroker/v1/token.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

absl::StatusOr<int> ShowToken(Context& context, const google::protobuf::Message& reply) {
  const Json answer = ToJson(reply);
  if (context.json()) {
    context.PrintJson(answer);
    return kDone;
  }
  const Json& token = answer["token"];
  context.Print(base::StrCat("token    ", Cell(TextCell(token, "id"), 80), "  until ", TimeCell(token["expires_at"]),
                             "\nexport CREDBROKER_TOKEN=", Cell(TextCell(token, "text"), 4000), "\n"));
  return kDone;
}

absl::StatusOr<int> Mint(Context& context, const std::string& session, const TokenOptions& options) {
  v1::MintTokenReply reply;
  RETURN_IF_ERROR(MintToken(context, session, options, &reply));
  return ShowToken(context, reply);
}

absl::StatusOr<int> Derive(Context& context, const TokenOptions& options) {
  ASSIGN_OR_RETURN(const std::string token, context.Token());
  v1::DeriveTokenRequest request;
  v1::DeriveTokenReply reply;
  SetNarrowing(options, request.mutable_narrowing());
  if (!options.ttl.empty()) RETURN_IF_ERROR(SetDuration(options.ttl, request.mutable_ttl()));
  RETURN_IF_ERROR(context.broker().DeriveToken(request, &reply, token));
  return ShowToken(context, reply);
}

absl::StatusOr<int> Renew(Context& context, const std::string& ttl) {
  ASSIGN_OR_RETURN(const std::string token, context.Token());
  v1::RenewTokenRequest request;
  v1::RenewTokenReply reply;
  if (!ttl.empty()) RETURN_IF_ERROR(SetDuration(ttl, request.mutable_ttl()));
  RETURN_IF_ERROR(context.broker().RenewToken(request, &reply, token));
  return ShowToken(context, reply);
}

struct RevokeOptions {
  std::string token, session, scope, repository, credential, reason;
  bool all = false;
};

v1::RevokeTokenRequest RevokeRequest(const RevokeOptions& options) {
  v1::RevokeTokenRequest request;
  request.set_reason(options.reason);
  if (!options.token.empty()) request.set_token(options.token);
  if (!options.session.empty()) request.set_session(options.session);
  if (!options.scope.empty()) request.set_scope(options.scope);
  if (!options.repository.empty()) request.set_repository(options.repository);
  if (!options.credential.empty()) request.set_credential(options.credential);
  if (options.all) request.set_all(true);
  return request;
}

absl::StatusOr<int> Revoke(Context& context, const RevokeOptions& options) {
  const v1::RevokeTokenRequest request = RevokeRequest(options);
  std::string token;
  if (request.target_case() == v1::RevokeTokenRequest::TARGET_NOT_SET) {
    ASSIGN_OR_RETURN(token, context.Token());
  } else if (context.settings().token_by_flag) {
    token = context.settings().token;
  }
  v1::RevokeTokenReply reply;
  RETURN_IF_ERROR(context.broker().RevokeToken(request, &reply, token));
  if (context.json()) {
    context.PrintJson(ToJson(reply));
    return kDone;
  }
  for (const std::string& revoked : reply.revoked_tokens()) {
    context.Print(base::StrCat("revoked  ", Cell(revoked, 80), "\n"));
  }
  context.Print(
      base::StrCat(reply.revoked_tokens_size(), " tokens revoked, confirmed by ", reply.edges_told(), " edges\n"));
  return kDone;
}

std::string YesNo(const Json& row, const char* name) { return row[name].get<bool>() ? "yes" : "-"; }

std::string WhoAmITables(const Json& answer) {
  const Json& session = answer["session"];
  std::string text = base::StrCat(
      "session    ", Cell(TextCell(session, "id"), 80), "  requester ", Cell(TextCell(session, "requester"), 60),
      "  phase ", Cell(TextCell(session, "phase"), 20), "  until ", TimeCell(session["expires_at"]), "\ntoken      ",
      Cell(TextCell(answer["token"], "id"), 80), "  until ", TimeCell(answer["token"]["expires_at"]), "\nscopes     ",
      Cell(ListCell(session, "scopes"), 200), "\nexceptions ", Cell(ListCell(answer, "exceptions"), 200), "\n\n");
  Table repositories({{"REPOSITORY"}, {"HOST"}, {"FETCH"}, {"PUSH TO"}, {"CREATE"}, {"DELETE"}, {"FORCE"}, {"API"}});
  for (const Json& row : answer["repositories"]) {
    repositories.Add({TextCell(row, "name"), TextCell(row, "host"), YesNo(row, "fetch"), ListCell(row, "push_refs"),
                      YesNo(row, "create"), YesNo(row, "delete"), YesNo(row, "force"), ListCell(row, "api")});
  }
  Table endpoints({{"HOST"}, {"METHODS"}, {"PATH"}, {"SCOPE"}});
  for (const Json& row : answer["endpoints"]) {
    endpoints.Add({TextCell(row, "host"), ListCell(row, "methods"), TextCell(row, "path"), TextCell(row, "scope")});
  }
  return base::StrCat(text, repositories.Text(), "\n", endpoints.Text());
}

absl::StatusOr<int> WhoAmI(Context& context) {
  ASSIGN_OR_RETURN(const std::string token, context.Token());
  v1::WhoAmIReply reply;
  RETURN_IF_ERROR(context.broker().WhoAmI({}, &reply, token));
  const Json answer = ToJson(reply);
  if (context.json()) {
    context.PrintJson(answer);
    return kDone;
  }
  context.Print(WhoAmITables(answer));
  return kDone;
}

void AddMint(CLI::App& group, Action& chosen) {
  const auto session = std::make_shared<std::string>();
  const auto options = std::make_shared<TokenOptions>();
  CLI::App* leaf = AddLeaf(group, "mint",
                           {"A further token for an open session, narrowed if you like",
                            "credbroker token mint --session s-7kq2 --method GET --repository acme/web --ttl 5m",
                            "`CREDBROKER_TOKEN=... credbroker token whoami` shows what it permits"});
  leaf->add_option("--session", *session, "the session")->required();
  AddNarrowingOptions(leaf, *options);
  leaf->add_option("--label", options->label, "which workload holds the token (default: the session's)")
      ->check(CLI::IsMember({"agent", "tool", "setup"}));
  OnChosen(leaf, chosen, [session, options](Context& context) { return Mint(context, *session, *options); });
}

void AddDeriveAndRenew(CLI::App& group, Action& chosen) {
  const auto options = std::make_shared<TokenOptions>();
  CLI::App* leaf =
      AddLeaf(group, "derive",
              {"A child of your own token: never wider, dies with it", "credbroker token derive --method GET --ttl 5m",
               "give the child to a tool you trust less"});
  AddNarrowingOptions(leaf, *options);
  OnChosen(leaf, chosen, [options](Context& context) { return Derive(context, *options); });

  const auto ttl = std::make_shared<std::string>();
  leaf = AddLeaf(group, "renew",
                 {"A new token with the binding of yours, under today's policy", "credbroker token renew --ttl 15m",
                  "set CREDBROKER_TOKEN to the new text, then `credbroker env` again"});
  leaf->add_option("--ttl", *ttl, "the token's life, like 15m");
  OnChosen(leaf, chosen, [ttl](Context& context) { return Renew(context, *ttl); });
}

void AddRevoke(CLI::App& group, Action& chosen) {
  const auto options = std::make_shared<RevokeOptions>();
  CLI::App* leaf = AddLeaf(group, "revoke",
                           {"Revoke at once, on open connections too; without a target your own token",
                            "credbroker token revoke --repository acme/web --reason 'laptop lost'",
                            "`credbroker audit list --kind revoke` shows it in the ledger"});
  CLI::Option_group* target = leaf->add_option_group("target", "what to revoke: one of these at most");
  target->add_option("id", options->token, "a token's id");
  target->add_option("--session", options->session, "every token of a session");
  target->add_option("--scope", options->scope, "every token of sessions under a scope");
  target->add_option("--repository", options->repository, "every token that reaches a repository");
  target->add_option("--credential", options->credential, "every use of an upstream credential");
  target->add_flag("--all", options->all, "everything");
  target->require_option(0, 1);
  leaf->add_option("--reason", options->reason, "kept in the ledger");
  OnChosen(leaf, chosen, [options](Context& context) { return Revoke(context, *options); });
}

}  // namespace

void AddTokenCommands(CLI::App& app, Action& chosen) {
  CLI::App* group = AddGroup(app, "token",
                             {"What a sandbox holds: mint, narrow, renew, revoke, ask", "credbroker token whoami",
                              "`credbroker policy explain` answers what one request would get"});
  AddMint(*group, chosen);
  AddDeriveAndRenew(*group, chosen);
  AddRevoke(*group, chosen);
  OnChosen(AddLeaf(*group, "whoami",
                   {"What your token permits now: exactly what is enforced", "credbroker token whoami --output json",
                    "`credbroker policy explain --method GET --url URL` asks about one request"}),
           chosen, WhoAmI);
}

}  // namespace credbroker::client
