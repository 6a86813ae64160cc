#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/duration.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/audit_table.h"
#include "client/command.h"
#include "client/simulation.h"
#include "client/table.h"
#include "credbroker/v1/audit.pb.h"
#include "credbroker/v1/session.pb.h"
#include "nlohmann/json.hpp"
#include "policy/source.h"

namespace credbroker::client {
namespace {

struct SimulateOptions {
  std::string file, since = "7d";
  int limit = 10'000;
};

absl::Status AddRecords(Context& context, const SimulateOptions& options, const char* kind, absl::Time since, std::vector<Json>* records) {
  v1::ListRecordsRequest request;
  v1::ListRecordsReply reply;
  request.set_limit(options.limit);
  request.set_kind(kind);
  *request.mutable_since() = ToTimestamp(since);
  RETURN_IF_ERROR(context.broker().ListRecords(request, &reply));
  if (reply.json_size() == options.limit) context.Note(base::StrCat("the newest ", options.limit, " of kind ", kind, " are simulated; there are more"));
  for (const std::string& line : reply.json()) records->push_back(RecordJson(line));
  return absl::OkStatus();
}

void Print(Context& context, const Simulation& simulation) {
  if (context.json()) {
    Json changes = Json::array();
    for (const SimulatedChange& one : simulation.changes) {
      changes.push_back({{"id", one.id}, {"time", one.time}, {"session", one.session}, {"asked", one.asked}, {"before", one.before}, {"after", one.after}});
    }
    return context.PrintJson({{"same", simulation.same}, {"changes", changes}, {"skipped", simulation.skipped}});
  }
  Table table({{"RECORD"}, {"SESSION"}, {"ASKED", 80}, {"WAS", 50}, {"WOULD BE", 50}});
  for (const SimulatedChange& one : simulation.changes) table.Add({one.id, one.session, one.asked, one.before, one.after});
  if (!simulation.changes.empty()) context.Print(table.Text());
  context.Print(base::StrCat(simulation.changes.size(), " would change, ", simulation.same, " stay\n"));
  for (const auto& [why, count] : simulation.skipped) context.Note(base::StrCat(count, " not simulated: ", why));
}

absl::StatusOr<int> Run(Context& context, const SimulateOptions& options) {
  ASSIGN_OR_RETURN(const absl::Duration ago, base::ParseDuration(options.since), "reading --since");
  ASSIGN_OR_RETURN(const policy::PolicySource source, policy::ReadPolicySource(options.file), base::StrCat("reading ", options.file));
  ASSIGN_OR_RETURN(const auto rules, policy::RuleSet::Load(source, 0, ""));
  const absl::Time since = base::SystemClock().Now() - ago;
  std::vector<Json> records;
  for (const char* kind : {"intent", "deny"}) RETURN_IF_ERROR(AddRecords(context, options, kind, since, &records));
  v1::ListSessionsRequest all;
  v1::ListSessionsReply sessions;
  all.set_include_closed(true);
  RETURN_IF_ERROR(context.broker().ListSessions(all, &sessions));
  std::map<std::string, std::vector<std::string>> scopes;
  for (const auto& session : sessions.sessions()) scopes[session.id()].assign(session.scopes().begin(), session.scopes().end());
  Print(context, Simulate(records, scopes, rules));
  return kDone;
}

}  // namespace

void AddSimulateCommand(CLI::App& policy, Action& chosen) {
  const auto options = std::make_shared<SimulateOptions>();
  CLI::App* leaf = AddLeaf(policy, "simulate", {"Which recorded requests a new policy would decide otherwise", "credbroker policy simulate -f new.yaml --since 7d",
                                                "`credbroker apply -f new.yaml --dry-run` shows what changes in meaning",
                                                "Replays what records keep through the one decision. What was refused before a decision, and tokens that were narrowed, are counted apart.\n"
                                                "A forced push counts as a fast-forward unless it was refused for that."});
  leaf->add_option("-f,--file", options->file, "a YAML file or a folder of them")->required();
  leaf->add_option("--since", options->since, "how far back: 24h, 7d")->capture_default_str();
  leaf->add_option("--limit", options->limit, "the newest N records of each kind")->check(CLI::Range(1, 10'000))->capture_default_str();
  OnChosen(leaf, chosen, [options](Context& context) { return Run(context, *options); });
}

}  // namespace credbroker::client
