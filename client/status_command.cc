#include <CLI/CLI.hpp>

#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/table.h"
#include "credbroker/v1/status.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

std::string Overview(const Json& status) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    base::StrAppend(&text, name, std::string(16 - name.size(), ' '), Cell(value, 200), "\n");
  };
  line("version", TextCell(status, "version"));
  line("started", TimeCell(status["started_at"]));
  line("policy", base::StrCat(TextCell(status, "policy_version"), " (", TextCell(status, "policy_digest"), ")"));
  line("data folder", TextCell(status, "data_dir"));
  line("open sessions", TextCell(status, "open_sessions"));
  line("ledger", status["ledger_ok"].get<bool>() ? "writable" : "NOT WRITABLE: nothing is permitted");
  line("CA", TextCell(status, "ca_fingerprint"));
  for (const Json& listener : status["listeners"]) line("listening", listener.get<std::string>());
  for (const Json& warning : status["warnings"]) line("warning", warning.get<std::string>());
  return text;
}

std::string Edges(const Json& edges) {
  Table table({{"EDGE"}, {"STATE"}, {"LAST SEEN"}, {"POLICY"}, {"LEDGER"}, {"ENTRIES"}, {"LISTENERS"}});
  for (const Json& edge : edges) {
    table.Add({TextCell(edge, "id"), edge["connected"].get<bool>() ? "connected" : "away", TimeCell(edge["last_seen"]),
               TextCell(edge, "policy_version"), edge["ledger_ok"].get<bool>() ? "writable" : "NOT WRITABLE",
               TextCell(edge, "ledger_entries"), ListCell(edge, "listeners")});
  }
  return table.Text();
}

absl::StatusOr<int> ShowStatus(Context& context) {
  v1::GetStatusReply reply;
  RETURN_IF_ERROR(context.broker().GetStatus({}, &reply));
  const Json status = ToJson(reply);
  if (context.json()) {
    context.PrintJson(status);
    return kDone;
  }
  context.Print(Overview(status));
  if (!status["edges"].empty()) context.Print(base::StrCat("\n", Edges(status["edges"])));
  return kDone;
}

}  // namespace

void AddStatusCommand(CLI::App& app, Action& chosen) {
  CLI::App* leaf = AddLeaf(app, "status",
                           {"What runs: broker, edges, policy in force, ledger", "credbroker status --output json",
                            "`credbroker audit verify` checks the ledgers, `credbroker session list` shows sessions"});
  OnChosen(leaf, chosen, ShowStatus);
}

}  // namespace credbroker::client
