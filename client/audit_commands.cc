#include <CLI/CLI.hpp>
#include <ostream>

#include "base/macros.h"
#include "base/str.h"
#include "client/audit_chain.h"
#include "client/audit_filter.h"
#include "client/audit_table.h"
#include "client/command.h"
#include "client/record_words.h"
#include "client/table.h"
#include "credbroker/v1/audit.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

struct ListOptions {
  AuditFilter filter;
  int limit = 100;
};

void AddListFlags(CLI::App* leaf, ListOptions& options) {
  leaf->add_option("--limit", options.limit, "the last N records that match, at most 10000")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  AddFilterFlags(leaf, options.filter);
}

absl::StatusOr<v1::ListRecordsRequest> MakeRequest(const ListOptions& options) {
  ASSIGN_OR_RETURN(v1::ListRecordsRequest request, MakeFilter(options.filter));
  request.set_limit(options.limit);
  return request;
}

absl::StatusOr<int> List(Context& context, const ListOptions& options) {
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

absl::StatusOr<int> Tail(Context& context, const ListOptions& options, int64_t max) {
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

struct ShowOptions {
  std::string id;
  bool chain = false;
};

absl::StatusOr<int> ShowChain(Context& context, const std::string& id) {
  ASSIGN_OR_RETURN(const Json chain, RecordChain(context.broker(), id));
  if (context.json()) {
    context.PrintJson(chain);
  } else {
    context.Print(ChainText(chain));
  }
  return kDone;
}

absl::StatusOr<int> Show(Context& context, const ShowOptions& options) {
  if (options.chain) return ShowChain(context, options.id);
  v1::GetRecordRequest request;
  v1::GetRecordReply reply;
  request.set_id(options.id);
  RETURN_IF_ERROR(context.broker().GetRecord(request, &reply));
  Json records = Json::array();
  for (const std::string& line : reply.json()) records.push_back(RecordJson(line));
  if (context.json()) {
    const bool one = records.size() == 1 && records[0].contains("id") && records[0]["id"] == options.id;
    context.PrintJson(one ? records[0] : records);
    return kDone;
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::string words;
    for (const std::string& sentence : RecordWords(records[i])) base::StrAppend(&words, Cell(sentence, 2000), "\n");
    context.Print(base::StrCat(i == 0 ? "" : "\n", words, "\n", RecordLines(records[i])));
  }
  return kDone;
}

}  // namespace

void AddAuditCommands(CLI::App& app, Action& chosen) {
  CLI::App* group =
      AddGroup(app, "audit",
               {"The ledgers: read, follow, verify, prove", "credbroker audit list --since 1h --kind deny",
                "`credbroker audit verify` proves that nothing was changed"});
  const auto listed = std::make_shared<ListOptions>();
  CLI::App* leaf =
      AddLeaf(*group, "list",
              {"Records in ledger order, oldest first", "credbroker audit list --session s-7kq2 --output json",
               "`credbroker audit show ID` shows one record whole"});
  AddListFlags(leaf, *listed);
  OnChosen(leaf, chosen, [listed](Context& context) { return List(context, *listed); });

  const auto tailed = std::make_shared<ListOptions>();
  const auto max = std::make_shared<int64_t>(0);
  tailed->limit = 10;
  leaf = AddLeaf(*group, "tail",
                 {"Records as they arrive, beginning with the last few; JSON output is one record a line",
                  "credbroker audit tail --kind deny", "Ctrl-C ends it"});
  AddListFlags(leaf, *tailed);
  leaf->add_option("--max", *max, "end after N records")->check(CLI::PositiveNumber);
  OnChosen(leaf, chosen, [tailed, max](Context& context) { return Tail(context, *tailed, *max); });

  const auto shown = std::make_shared<ShowOptions>();
  leaf = AddLeaf(*group, "show",
                 {"One record by its id (an object), or all records of a request id (an array), in words and whole",
                  "credbroker audit show edge-7 --chain",
                  "`credbroker audit prove edge-7` proves that it is in the ledger"});
  leaf->add_option("id", shown->id, "a record's id or a request id")->required();
  leaf->add_flag("--chain", shown->chain, "with all that it hangs on: request, tokens, session, policy, exception");
  OnChosen(leaf, chosen, [shown](Context& context) { return Show(context, *shown); });
  AddWhyCommand(*group, chosen);
  AddIncidentCommand(*group, chosen);
  AddExportCommand(*group, chosen);
  AddLedgerCommands(*group, chosen);
}

}  // namespace credbroker::client
