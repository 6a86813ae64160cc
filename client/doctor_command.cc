#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/doctor.h"
#include "client/table.h"
#include "credbroker/credbroker.h"
#include "credbroker/v1/policy.pb.h"
#include "credbroker/v1/session.pb.h"
#include "credbroker/v1/status.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

// `unix:DIR/run/api.sock` -> DIR.
std::string FolderOf(const Settings& settings) {
  std::string_view path = settings.address;
  constexpr std::string_view kUnix = "unix:", kSocket = "/run/api.sock";
  if (!path.starts_with(kUnix) || !path.ends_with(kSocket)) return {};
  path.remove_prefix(kUnix.size());
  path.remove_suffix(kSocket.size());
  return std::string(path);
}

absl::Status AskBroker(Context& context, absl::Time now, std::vector<Diagnosis>* out) {
  v1::GetStatusReply status;
  RETURN_IF_ERROR(context.broker().GetStatus({}, &status));
  v1::ListExceptionsReply exceptions;
  RETURN_IF_ERROR(context.broker().ListExceptions({}, &exceptions));
  v1::ListSessionsRequest all;
  v1::ListSessionsReply sessions;
  all.set_include_closed(true);
  RETURN_IF_ERROR(context.broker().ListSessions(all, &sessions));
  v1::ListPolicyVersionsReply versions;
  RETURN_IF_ERROR(context.broker().ListPolicyVersions({}, &versions));
  for (Diagnosis& one : ExamineBroker(ToJson(status), ToJson(exceptions)["exceptions"], ToJson(sessions)["sessions"], ToJson(versions)["versions"], now)) {
    out->push_back(std::move(one));
  }
  return absl::OkStatus();
}

void Print(Context& context, const std::vector<Diagnosis>& all) {
  if (context.json()) {
    Json rows = Json::array();
    for (const Diagnosis& one : all) rows.push_back({{"id", one.id}, {"severity", SeverityName(one.severity)}, {"found", one.found}, {"fix", one.fix}});
    return context.PrintJson(rows);
  }
  Table table({{"CHECK"}, {"RESULT"}, {"FOUND", 90}, {"FIX", 110}});
  for (const Diagnosis& one : all) table.Add({one.id, std::string(SeverityName(one.severity)), one.found, one.fix});
  context.Print(table.Text());
}

absl::StatusOr<int> Examine(Context& context) {
  const absl::Time now = base::SystemClock().Now();
  std::vector<Diagnosis> all;
  // On a folder that this user can read; a remote or restricted caller gets what the broker says alone.
  if (const std::string folder = FolderOf(context.settings()); !folder.empty()) all = ExamineFolder({.data_dir = folder}, now);
  if (const absl::Status asked = AskBroker(context, now, &all); !asked.ok()) {
    all.push_back({"broker.answers", Severity::kFault, base::StrCat("the broker does not answer: ", base::View(asked.message())), "start credbrokerd, or check --address and your role"});
  }
  Print(context, all);
  int faults = 0;
  for (const Diagnosis& one : all) faults += one.severity == Severity::kFault ? 1 : 0;
  if (faults > 0) return base::Error(base::ErrorCode::kFindings, base::StrCat(faults, " of ", all.size(), " checks"));
  return kDone;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Action& chosen) {
  OnChosen(AddLeaf(app, "doctor",
                   {"Examine a deployment: modes, sockets, disk, ledgers, CA, clock, edges, exceptions", "credbroker --data-dir /var/lib/credbroker doctor",
                    "follow the fix beside each finding, then run it again",
                    "Works on the data folder (reading only) and, when the broker answers, on what it says. Exit code 1 when a check finds a fault; warnings and notes\n"
                    "leave it 0."}),
           chosen, Examine);
}

}  // namespace credbroker::client
