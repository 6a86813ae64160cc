#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/pilot.h"
#include "client/table.h"
#include "credbroker/v1/evidence.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr mode_t kReadableByAll = 0644;

struct Options {
  PilotOptions pilot;
  std::string out;
};

absl::Status Submit(Context& context, const std::string& token, const std::vector<PilotFinding>& findings, v1::SubmitPilotReply* reply) {
  v1::SubmitPilotRequest request;
  for (const PilotFinding& finding : findings) {
    v1::PilotFinding* row = request.add_findings();
    row->set_id(finding.id);
    row->set_group(finding.group);
    row->set_name(finding.name);
    row->set_passed(finding.passed);
    row->set_detail(finding.detail);
    row->set_request_id(finding.request_id);
  }
  return context.broker().SubmitPilot(request, reply, token);
}

void Print(Context& context, const v1::SubmitPilotReply& reply) {
  if (context.json()) return context.PrintJson(ToJson(reply));
  Table table({{"TEST"}, {"GROUP"}, {"RESULT"}, {"WHAT", 40}, {"FOUND", 110}});
  for (const auto& finding : reply.findings()) {
    const bool unproven = !finding.request_id().empty() && !finding.confirmed();
    table.Add({finding.id(), finding.group(), finding.passed() ? "passed" : "FAILED", finding.name(),
               unproven ? base::StrCat(finding.detail(), " - and the ledger does not hold this refusal") : finding.detail()});
  }
  context.Print(base::StrCat(table.Text(), "\n", reply.passed() ? "passed" : "FAILED", "; recorded and signed by the broker\n"));
}

absl::StatusOr<int> Run(Context& context, const Options& options) {
  ASSIGN_OR_RETURN(const std::string token, context.Token());
  const std::vector<PilotFinding> findings = RunPilot(context, token, options.pilot);
  v1::SubmitPilotReply reply;
  RETURN_IF_ERROR(Submit(context, token, findings, &reply));
  Print(context, reply);
  if (!options.out.empty()) RETURN_IF_ERROR(base::WriteFileAtomic(options.out, reply.note(), kReadableByAll));
  if (!reply.passed()) return base::Error(base::ErrorCode::kPilotFailed);
  return kDone;
}

}  // namespace

void AddPilotCommand(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* leaf = AddLeaf(app, "pilot",
                           {"In a sandbox: test the claims - egress, secrets, git - and have the broker sign the result",
                            "credbroker run --requester team-web --scope web-agent -- credbroker pilot",
                            "`credbroker evidence answers` shows the newest result",
                            "Nothing is changed anywhere: the push names an object that does not exist. It fails when the sandbox has another way out, a\n"
                            "variable that looks like a real credential, or the broker's socket as its owner: run it as the agent's own user."});
  leaf->add_option("--blocked-host", options->pilot.blocked_host, "HOST:PORT that no policy names")->capture_default_str();
  leaf->add_option("--protected-ref", options->pilot.protected_ref, "a ref that nobody may push to")->capture_default_str();
  AddRepeated(leaf, "--target", options->pilot.targets, "HOST:PORT to try to reach around the edge; repeat for more (default: public resolvers)");
  leaf->add_option("--out", options->out, "write the signed result to this file");
  OnChosen(leaf, chosen, [options](Context& context) { return Run(context, *options); });
}

}  // namespace credbroker::client
