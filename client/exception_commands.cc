#include <CLI/CLI.hpp>

#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/table.h"
#include "credbroker/v1/policy.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

struct AddOptions {
  std::string id, kind = "tunnel", reason, owner, approved_by, expires;
  std::vector<std::string> hosts, addresses, scopes;
};

absl::StatusOr<int> List(Context& context) {
  v1::ListExceptionsReply reply;
  RETURN_IF_ERROR(context.broker().ListExceptions({}, &reply));
  const Json rows = ToJson(reply)["exceptions"];
  if (context.json()) {
    context.PrintJson(rows);
    return kDone;
  }
  Table table({{"ID", 16}, {"STATE"}, {"KIND", 10}, {"HOSTS", 30}, {"OWNER", 24}, {"EXPIRES"}, {"USES"}, {"PASSES", 40}, {"REASON", 50}});
  for (const Json& row : rows) {
    table.Add({TextCell(row, "id"), TextCell(row, "state"), TextCell(row, "kind"), ListCell(row, "hosts"), TextCell(row, "owner"), TimeCell(row["expires"]),
               TextCell(row, "uses"), TextCell(row, "passes"), TextCell(row, "reason")});
  }
  context.Print(table.Text());
  return kDone;
}

absl::StatusOr<int> Add(Context& context, const AddOptions& options) {
  v1::AddExceptionRequest request;
  v1::AddExceptionReply reply;
  request.set_id(options.id);
  request.set_kind(options.kind);
  request.set_reason(options.reason);
  request.set_owner(options.owner);
  request.set_approved_by(options.approved_by);
  request.set_expires(options.expires);
  for (const std::string& host : options.hosts) request.add_hosts(host);
  for (const std::string& network : options.addresses) request.add_addresses(network);
  for (const std::string& scope : options.scopes) request.add_scopes(scope);
  RETURN_IF_ERROR(context.broker().AddException(request, &reply));
  if (context.json()) {
    context.PrintJson(ToJson(reply));
    return kDone;
  }
  for (const std::string& warning : reply.warnings()) context.Note(base::StrCat("warning: ", warning));
  context.Print(base::StrCat("exception ", Cell(options.id, 64), " is in force with policy version ", reply.version(), "\n"));
  return kDone;
}

absl::StatusOr<int> Turn(Context& context, const std::string& id, bool off) {
  v1::TurnExceptionRequest request;
  v1::TurnExceptionReply reply;
  request.set_id(id);
  request.set_off(off);
  RETURN_IF_ERROR(context.broker().TurnException(request, &reply));
  if (context.json()) {
    context.PrintJson(ToJson(reply));
    return kDone;
  }
  context.Print(base::StrCat("exception ", Cell(id, 64), off ? " is off" : " is as its entry says", " with policy version ", reply.version(), "\n"));
  return kDone;
}

void AddAdding(CLI::App& group, Action& chosen) {
  const auto options = std::make_shared<AddOptions>();
  CLI::App* leaf = AddLeaf(group, "add",
                           {"One more exception: a new policy version, recorded before it acts",
                            "credbroker exception add EX-7 --host pinned.vendor.example --reason \"pins its certificate\" --owner jo@corp.example "
                            "--approved-by sec@corp.example --expires 2027-01-31",
                            "`credbroker exception disable ID` ends it early; a later `apply` keeps it unless the file defines the same id"});
  leaf->add_option("ID", options->id, "its name in records")->required();
  leaf->add_option("--kind", options->kind, "tunnel: its bytes pass unread")->capture_default_str();
  AddRepeated(leaf, "--host", options->hosts, "host or host:port; repeat for more");
  leaf->add_option("--reason", options->reason, "why it is needed");
  leaf->add_option("--owner", options->owner, "who answers for it");
  leaf->add_option("--approved-by", options->approved_by, "who allowed it; not the owner");
  leaf->add_option("--expires", options->expires, "2027-01-31 or 2027-01-31T12:00:00Z");
  AddRepeated(leaf, "--address", options->addresses, "network that its hosts may resolve to although it is private; repeat for more");
  AddRepeated(leaf, "--scope", options->scopes, "for sessions under this scope only; repeat for more");
  OnChosen(leaf, chosen, [options](Context& context) { return Add(context, *options); });
}

void AddTurning(CLI::App& group, Action& chosen, const char* name, bool off, const Words& words) {
  const auto id = std::make_shared<std::string>();
  CLI::App* leaf = AddLeaf(group, name, words);
  leaf->add_option("ID", *id, "the exception")->required();
  OnChosen(leaf, chosen, [id, off](Context& context) { return Turn(context, *id, off); });
}

}  // namespace

void AddExceptionCommands(CLI::App& app, Action& chosen) {
  CLI::App* group = AddGroup(app, "exception", {"Named, owned, expiring ways past the promise", "credbroker exception list",
                                                "`credbroker audit list --exception ID` shows the uses of one"});
  OnChosen(AddLeaf(*group, "list", {"Every exception with owner, expiry and uses, the built-in ones too", "credbroker exception list --output json",
                                    "`credbroker audit list --exception ID` shows its uses one by one"}),
           chosen, List);
  AddAdding(*group, chosen);
  AddTurning(*group, chosen, "disable", true, {"Turn one off: it is blocked at once", "credbroker exception disable EX-7", "`credbroker exception enable ID` undoes it"});
  AddTurning(*group, chosen, "enable", false, {"Undo `disable`", "credbroker exception enable EX-7", "an entry that says `enabled: false` itself, or has expired, stays blocked"});
}

}  // namespace credbroker::client
