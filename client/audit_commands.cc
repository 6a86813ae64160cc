#include <google/protobuf/timestamp.pb.h>

#include <CLI/CLI.hpp>
#include <ostream>

#include "base/clock.h"
#include "base/duration.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/audit_table.h"
#include "client/command.h"
#include "credbroker/v1/audit.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

struct FilterOptions {
  int limit = 100;
  std::string session, repository, requester, rule, effect_class, kind, exception, request_id, token_id, since, until;
};

void AddFilter(CLI::App* leaf, FilterOptions& options) {
  leaf->add_option("--limit", options.limit, "the last N records that match, at most 10000")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  leaf->add_option("--session", options.session, "of one session");
  leaf->add_option("--repository", options.repository, "about one repository: acme/web");
  leaf->add_option("--requester", options.requester, "of one requester's sessions");
  leaf->add_option("--rule", options.rule, "decided by this rule");
  leaf->add_option("--effect-class", options.effect_class, "read, push, write.issue, ...");
  leaf->add_option("--kind", options.kind, "one kind of record")
      ->check(CLI::IsMember({"intent", "outcome", "deny", "issue", "revoke", "session", "admin", "misuse", "system"}));
  leaf->add_option("--exception", options.exception, "under this exception");
  leaf->add_option("--request-id", options.request_id, "of one request, as a refusal names it");
  leaf->add_option("--token-id", options.token_id, "under one token");
  leaf->add_option("--since", options.since, "not older than 15m, or than 2026-11-30T12:00:00Z");
  leaf->add_option("--until", options.until, "older than 15m, or than 2026-11-30T12:00:00Z");
}

// A moment, or how long ago.
absl::StatusOr<absl::Time> ReadMoment(const std::string& text) {
  if (const auto ago = base::ParseDuration(text); ago.ok()) return base::SystemClock().Now() - *ago;
  return base::ParseTime(text);
}

absl::StatusOr<v1::ListRecordsRequest> MakeRequest(const FilterOptions& options) {
  v1::ListRecordsRequest request;
  request.set_limit(options.limit);
  request.set_session(options.session);
  request.set_repository(options.repository);
  request.set_requester(options.requester);
  request.set_rule(options.rule);
  request.set_effect_class(options.effect_class);
  request.set_kind(options.kind);
  request.set_exception(options.exception);
  request.set_request_id(options.request_id);
  request.set_token_id(options.token_id);
  if (!options.since.empty()) {
    ASSIGN_OR_RETURN(const absl::Time since, ReadMoment(options.since), "reading --since");
    *request.mutable_since() = ToTimestamp(since);
  }
  if (!options.until.empty()) {
    ASSIGN_OR_RETURN(const absl::Time until, ReadMoment(options.until), "reading --until");
    *request.mutable_until() = ToTimestamp(until);
  }
  return request;
}

absl::StatusOr<int> List(Context& context, const FilterOptions& options) {
  ASSIGN_OR_RETURN(const v1::ListRecordsRequest request, MakeRequest(options));
  v1::ListRecordsReply reply;
  RETURN_IF_ERROR(context.broker().ListRecords(request, &reply));
  if (!reply.edges_current()) context.Note("note: an edge did not answer in time, its newest records may be missing");
  Json records = Json::array();
  Table table = RecordTable();
  for (const std::string& line : reply.json()) {
    records.push_back(RecordJson(line));
    if (!context.json()) table.Add(RecordRow(records.back()));
  }
  if (context.json()) {
    context.PrintJson(records);
    return kDone;
  }
  context.Print(table.Text());
  return kDone;
}

absl::StatusOr<int> Tail(Context& context, const FilterOptions& options, int64_t max) {
  ASSIGN_OR_RETURN(const v1::ListRecordsRequest request, MakeRequest(options));
  const Table table = RecordTable();
  int64_t seen = 0;
  if (!context.json()) context.Print(table.TitleText());
  RETURN_IF_ERROR(context.broker().TailRecords(request, [&](std::string_view line) {
    const Json record = RecordJson(line);
    context.Print(context.json() ? base::StrCat(LineJson(record), "\n") : table.RowText(RecordRow(record)));
    context.host().out.flush();
    return ++seen != max && context.host().out.good();
  }));
  return kDone;
}

std::string RecordLines(const Json& record) {
  std::string text;
  for (const auto& [name, value] : record.items()) {
    const std::string shown = TextCell(record, name.c_str());
    if (shown.empty() || shown == "[]") continue;
    base::StrAppend(&text, name, std::string(17 - std::min<std::size_t>(name.size(), 16), ' '), Cell(shown, 2000),
                    "\n");
  }
  return text;
}

absl::StatusOr<int> Show(Context& context, const std::string& id) {
  v1::GetRecordRequest request;
  v1::GetRecordReply reply;
  request.set_id(id);
  RETURN_IF_ERROR(context.broker().GetRecord(request, &reply));
  Json records = Json::array();
  for (const std::string& line : reply.json()) records.push_back(RecordJson(line));
  if (context.json()) {
    const bool one = records.size() == 1 && records[0].contains("id") && records[0]["id"] == id;
    context.PrintJson(one ? records[0] : records);
    return kDone;
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    context.Print(base::StrCat(i == 0 ? "" : "\n", RecordLines(records[i])));
  }
  return kDone;
}

}  // namespace

void AddAuditCommands(CLI::App& app, Action& chosen) {
  CLI::App* group =
      AddGroup(app, "audit",
               {"The ledgers: read, follow, verify, prove", "credbroker audit list --since 1h --kind deny",
                "`credbroker audit verify` proves that nothing was changed"});
  const auto listed = std::make_shared<FilterOptions>();
  CLI::App* leaf =
      AddLeaf(*group, "list",
              {"Records in ledger order, oldest first", "credbroker audit list --session s-7kq2 --output json",
               "`credbroker audit show ID` shows one record whole"});
  AddFilter(leaf, *listed);
  OnChosen(leaf, chosen, [listed](Context& context) { return List(context, *listed); });

  const auto tailed = std::make_shared<FilterOptions>();
  const auto max = std::make_shared<int64_t>(0);
  tailed->limit = 10;
  leaf = AddLeaf(*group, "tail",
                 {"Records as they arrive, beginning with the last few; JSON output is one record a line",
                  "credbroker audit tail --kind deny", "Ctrl-C ends it"});
  AddFilter(leaf, *tailed);
  leaf->add_option("--max", *max, "end after N records")->check(CLI::PositiveNumber);
  OnChosen(leaf, chosen, [tailed, max](Context& context) { return Tail(context, *tailed, *max); });

  const auto id = std::make_shared<std::string>();
  leaf = AddLeaf(*group, "show",
                 {"One record by its id (an object), or all records of a request id (an array)",
                  "credbroker audit show edge-7", "`credbroker audit prove edge-7` proves that it is in the ledger"});
  leaf->add_option("id", *id, "a record's id or a request id")->required();
  OnChosen(leaf, chosen, [id](Context& context) { return Show(context, *id); });
  AddLedgerCommands(*group, chosen);
}

}  // namespace credbroker::client
