#include <CLI/CLI.hpp>

#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/table.h"
#include "client/token_source.h"
#include "credbroker/v1/session.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

std::string SocketLine(const Json& session) {
  const std::string socket = TextCell(session, "socket");
  return socket.empty() ? socket : base::StrCat("socket   ", Cell(socket, 4096), "\n");
}

// What a person needs to go on: the ids, and how to hand the token to a sandbox.
std::string TokenLines(const Json& answer) {
  const Json& token = answer["token"];
  return base::StrCat("session  ", Cell(TextCell(answer["session"], "id"), 80), "  phase ",
                      Cell(TextCell(answer["session"], "phase"), 20), "  until ",
                      TimeCell(answer["session"]["expires_at"]), "\ntoken    ", Cell(TextCell(token, "id"), 80),
                      "  until ", TimeCell(token["expires_at"]),
                      "\nexport CREDBROKER_TOKEN=", Cell(TextCell(token, "text"), 4000), "\n", SocketLine(answer["session"]));
}

absl::StatusOr<int> Open(Context& context, const SessionOptions& options) {
  v1::OpenSessionReply reply;
  RETURN_IF_ERROR(OpenSession(context, options, &reply));
  const Json answer = ToJson(reply);
  if (context.json()) {
    context.PrintJson(answer);
    return kDone;
  }
  context.Print(TokenLines(answer));
  return kDone;
}

absl::StatusOr<int> List(Context& context, bool all) {
  v1::ListSessionsRequest request;
  v1::ListSessionsReply reply;
  request.set_include_closed(all);
  RETURN_IF_ERROR(context.broker().ListSessions(request, &reply));
  const Json sessions = ToJson(reply)["sessions"];
  if (context.json()) {
    context.PrintJson(sessions);
    return kDone;
  }
  Table table(
      {{"SESSION"}, {"STATE"}, {"PHASE"}, {"REQUESTER", 20}, {"SCOPES", 30}, {"OPENED"}, {"EXPIRES"}, {"TICKET", 20}});
  for (const Json& session : sessions) {
    table.Add({TextCell(session, "id"), TextCell(session, "state"), TextCell(session, "phase"),
               TextCell(session, "requester"), ListCell(session, "scopes"), TimeCell(session["opened_at"]),
               TimeCell(session["expires_at"]), TextCell(session, "ticket")});
  }
  context.Print(table.Text());
  return kDone;
}

std::string SessionLines(const Json& session) {
  std::string text;
  for (const auto& [name, value] : session.items()) {
    const std::string shown = value.is_array() ? ListCell(session, name.c_str()) : TextCell(session, name.c_str());
    if (!shown.empty())
      base::StrAppend(&text, name, std::string(14 - std::min<std::size_t>(name.size(), 13), ' '), Cell(shown, 200),
                      "\n");
  }
  return text;
}

absl::StatusOr<int> Show(Context& context, const std::string& id) {
  v1::GetSessionRequest request;
  v1::GetSessionReply reply;
  request.set_id(id);
  RETURN_IF_ERROR(context.broker().GetSession(request, &reply));
  const Json answer = ToJson(reply);
  if (context.json()) {
    context.PrintJson(answer);
    return kDone;
  }
  Table table({{"TOKEN"}, {"PARENT"}, {"PHASE"}, {"LABEL"}, {"ISSUED"}, {"EXPIRES"}, {"REVOKED"}});
  for (const Json& token : answer["tokens"]) {
    table.Add({TextCell(token, "id"), TextCell(token, "parent_id"), TextCell(token, "phase"), TextCell(token, "label"),
               TimeCell(token["issued_at"]), TimeCell(token["expires_at"]), TimeCell(token["revoked_at"])});
  }
  context.Print(base::StrCat(SessionLines(answer["session"]), "\n", table.Text()));
  return kDone;
}

absl::StatusOr<int> SetPhase(Context& context, const std::string& id, const std::string& phase) {
  v1::SetPhaseRequest request;
  v1::SetPhaseReply reply;
  request.set_id(id);
  request.set_phase(phase);
  RETURN_IF_ERROR(context.broker().SetPhase(request, &reply));
  const Json answer = ToJson(reply);
  if (context.json()) {
    context.PrintJson(answer);
    return kDone;
  }
  context.Print(base::StrCat(TokenLines(answer), "revoked  ", Cell(ListCell(answer, "revoked_tokens"), 400), "\n"));
  return kDone;
}

absl::StatusOr<int> Close(Context& context, const std::string& id, const std::string& reason) {
  v1::CloseSessionRequest request;
  v1::CloseSessionReply reply;
  request.set_id(id);
  request.set_reason(reason);
  RETURN_IF_ERROR(context.broker().CloseSession(request, &reply));
  const Json answer = ToJson(reply);
  if (context.json()) {
    context.PrintJson(answer);
    return kDone;
  }
  context.Print(base::StrCat("closed   ", Cell(id, 80), "\n"));
  for (const std::string& token : reply.revoked_tokens()) {
    context.Print(base::StrCat("revoked  ", Cell(token, 80), "\n"));
  }
  return kDone;
}

void AddOpen(CLI::App& group, Action& chosen) {
  const auto options = std::make_shared<SessionOptions>();
  CLI::App* leaf = AddLeaf(group, "open",
                           {"Open a session under scopes and get its first token",
                            "credbroker session open --requester team-web --scope web-agent --ttl 15m --ticket WEB-12",
                            "give the token to the sandbox: `CREDBROKER_TOKEN=... credbroker run -- CMD`"});
  AddSessionOptions(leaf, *options);
  leaf->get_option("--requester")->required();
  leaf->get_option("--scope")->required();
  OnChosen(leaf, chosen, [options](Context& context) { return Open(context, *options); });
}

void AddPhase(CLI::App& group, Action& chosen) {
  const auto id = std::make_shared<std::string>();
  const auto phase = std::make_shared<std::string>();
  CLI::App* leaf = AddLeaf(group, "phase",
                           {"Move a session forward from setup to agent: old tokens die, a new one comes",
                            "credbroker session phase s-7kq2 agent", "hand the new token to the agent only"});
  leaf->add_option("id", *id, "the session")->required();
  leaf->add_option("phase", *phase, "the new phase")->required()->check(CLI::IsMember({"setup", "agent"}));
  OnChosen(leaf, chosen, [id, phase](Context& context) { return SetPhase(context, *id, *phase); });
}

void AddClose(CLI::App& group, Action& chosen) {
  const auto id = std::make_shared<std::string>();
  const auto reason = std::make_shared<std::string>();
  CLI::App* leaf = AddLeaf(group, "close",
                           {"Close a session and list every token that this revoked", "credbroker session close s-7kq2",
                            "`credbroker audit list --session s-7kq2` tells what the session did"});
  leaf->add_option("id", *id, "the session")->required();
  leaf->add_option("--reason", *reason, "kept with the session and in the ledger");
  OnChosen(leaf, chosen, [id, reason](Context& context) { return Close(context, *id, *reason); });
}

}  // namespace

void AddSessionCommands(CLI::App& app, Action& chosen) {
  CLI::App* group = AddGroup(app, "session",
                             {"One task of one sandbox: open, look at, move on, close",
                              "credbroker session open --requester team-web --scope web-agent",
                              "`credbroker token whoami` in the sandbox shows what the session may do"});
  AddOpen(*group, chosen);
  const auto all = std::make_shared<bool>(false);
  CLI::App* leaf =
      AddLeaf(*group, "list", {"Open sessions", "credbroker session list --all", "`credbroker session show ID`"});
  leaf->add_flag("--all", *all, "closed ones too");
  OnChosen(leaf, chosen, [all](Context& context) { return List(context, *all); });

  const auto id = std::make_shared<std::string>();
  leaf = AddLeaf(*group, "show",
                 {"One session with its tokens, never their texts", "credbroker session show s-7kq2",
                  "`credbroker token revoke ID` ends one token, `credbroker session close ID` all of them"});
  leaf->add_option("id", *id, "the session")->required();
  OnChosen(leaf, chosen, [id](Context& context) { return Show(context, *id); });
  AddPhase(*group, chosen);
  AddClose(*group, chosen);
}

}  // namespace credbroker::client
