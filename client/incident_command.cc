#include <google/protobuf/timestamp.pb.h>

#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/duration.h"
#include "base/macros.h"
#include "client/audit_filter.h"
#include "client/audit_table.h"
#include "client/command.h"
#include "client/incident.h"
#include "credbroker/v1/audit.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

absl::StatusOr<int> Incident(Context& context, AuditFilter filter) {
  ASSIGN_OR_RETURN(const absl::Time since, ReadMoment(filter.since), "reading --since");
  absl::Time until = base::SystemClock().Now();
  if (!filter.until.empty()) {
    ASSIGN_OR_RETURN(until, ReadMoment(filter.until), "reading --until");
  }
  v1::ExportRecordsRequest request;
  ASSIGN_OR_RETURN(*request.mutable_filter(), MakeFilter(filter));
  *request.mutable_filter()->mutable_until() = ToTimestamp(until);
  IncidentReport incident;
  RETURN_IF_ERROR(context.broker().ExportRecords(request, [&](const v1::ExportedRecord& record) {
    if (!record.json().empty()) incident.Take(RecordJson(record.json()));
    return true;
  }));
  const Json report = incident.Report(base::TimeText(since), base::TimeText(until));
  if (context.json()) {
    context.PrintJson(report);
  } else {
    context.Print(IncidentMarkdown(report));
  }
  return kDone;
}

}  // namespace

void AddIncidentCommand(CLI::App& audit, Action& chosen) {
  const auto filter = std::make_shared<AuditFilter>();
  CLI::App* leaf =
      AddLeaf(audit, "incident",
              {"Everything issued and used in a window, as Markdown or JSON",
               "credbroker audit incident --since 2026-11-30T12:00:00Z --until 2026-11-30T18:00:00Z --session s-7kq2",
               "`credbroker token revoke --session S` ends what is found; `credbroker audit prove ID` proves a record"});
  leaf->add_option("--since", filter->since, "the window's begin: a moment, or how long ago")->required();
  leaf->add_option("--until", filter->until, "its end; default: now");
  leaf->add_option("--session", filter->session, "of one session");
  leaf->add_option("--requester", filter->requester, "of one requester's sessions");
  leaf->add_option("--credential", filter->credential, "with one upstream credential");
  OnChosen(leaf, chosen, [filter](Context& context) { return Incident(context, *filter); });
}

}  // namespace credbroker::client
