#include <CLI/CLI.hpp>
#include <istream>
#include <iterator>

#include "base/clock.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "client/command.h"
#include "client/policy_test_file.h"
#include "client/table.h"
#include "credbroker/v1/policy.pb.h"
#include "nlohmann/json.hpp"
#include "policy/source.h"

namespace credbroker::client {
namespace {

struct ApplyOptions {
  std::string file, comment;
  bool dry_run = false;
};

absl::StatusOr<policy::PolicySource> ReadSource(Context& context, const std::string& file) {
  if (file != "-") return policy::ReadPolicySource(file);
  std::string text(policy::kMaxSourceFile + 1, '\0');
  context.host().in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(context.host().in.gcount()));
  if (text.size() > policy::kMaxSourceFile)
    return base::Error(base::ErrorCode::kTooLarge, "the policy on standard input");
  return policy::PolicySource{.documents = {{"stdin", std::move(text)}}};
}

void SetFiles(const std::vector<policy::SourceFile>& files, google::protobuf::RepeatedPtrField<v1::PolicyFile>* sent) {
  for (const policy::SourceFile& file : files) {
    v1::PolicyFile* added = sent->Add();
    added->set_name(file.name);
    added->set_text(file.text);
  }
}

absl::StatusOr<int> Apply(Context& context, const ApplyOptions& options) {
  ASSIGN_OR_RETURN(const policy::PolicySource source, ReadSource(context, options.file),
                   base::StrCat("reading ", options.file));
  v1::ApplyPolicyRequest request;
  v1::ApplyPolicyReply reply;
  SetFiles(source.documents, request.mutable_source()->mutable_documents());
  SetFiles(source.attachments, request.mutable_source()->mutable_attachments());
  request.set_dry_run(options.dry_run);
  request.set_comment(options.comment);
  RETURN_IF_ERROR(context.broker().ApplyPolicy(request, &reply));
  for (const std::string& warning : reply.warnings()) context.Note(base::StrCat("warning: ", warning));
  if (context.json()) {
    Json answer = ToJson(reply);
    answer["dry_run"] = options.dry_run;
    context.PrintJson(answer);
    return kDone;
  }
  for (const std::string& change : reply.changes()) context.Print(base::StrCat(Cell(change, 300), "\n"));
  const std::string_view done = options.dry_run     ? "dry run, nothing changed; in force: version "
                                : reply.unchanged() ? "unchanged, version "
                                                    : "applied, version ";
  context.Print(base::StrCat(done, reply.version(), " (", Cell(reply.digest(), 80), ")\n"));
  return kDone;
}

absl::StatusOr<int> Get(Context& context, int64_t version) {
  v1::GetPolicyRequest request;
  v1::GetPolicyReply reply;
  request.set_version(version);
  RETURN_IF_ERROR(context.broker().GetPolicy(request, &reply));
  if (context.json()) {
    Json answer = ToJson(reply.version());
    answer.update(ToJson(reply.source()));
    context.PrintJson(answer);
    return kDone;
  }
  for (const auto& document : reply.source().documents()) {
    if (reply.source().documents_size() > 1) context.Print(base::StrCat("# ", Cell(document.name(), 100), "\n"));
    // An admin wrote it: byte for byte, so that it can be applied again.
    context.Print(document.text());
    if (!document.text().ends_with('\n')) context.Print("\n");
  }
  return kDone;
}

absl::StatusOr<int> History(Context& context) {
  v1::ListPolicyVersionsReply reply;
  RETURN_IF_ERROR(context.broker().ListPolicyVersions({}, &reply));
  const Json versions = ToJson(reply)["versions"];
  if (context.json()) {
    context.PrintJson(versions);
    return kDone;
  }
  Table table({{"VERSION"}, {"APPLIED"}, {"AUTHOR", 24}, {"DIGEST", 20}, {"COMMENT"}});
  for (const Json& row : versions) {
    table.Add({TextCell(row, "version"), TimeCell(row["applied_at"]), TextCell(row, "author"), TextCell(row, "digest"),
               TextCell(row, "comment")});
  }
  context.Print(table.Text());
  return kDone;
}

absl::StatusOr<int> Diff(Context& context, int64_t from, int64_t to) {
  v1::DiffPolicyRequest request;
  v1::DiffPolicyReply reply;
  request.set_from(from);
  request.set_to(to);
  RETURN_IF_ERROR(context.broker().DiffPolicy(request, &reply));
  if (context.json()) {
    context.PrintJson(ToJson(reply));
    return kDone;
  }
  for (const std::string& change : reply.changes()) context.Print(base::StrCat(Cell(change, 300), "\n"));
  return kDone;
}

absl::StatusOr<int> Test(Context& context, const std::string& file, const std::string& policy_path) {
  ASSIGN_OR_RETURN(const auto results, RunPolicyTestFile(file, policy_path, base::SystemClock().Now()));
  Json rows = Json::array();
  Table table({{"RESULT"}, {"QUESTION"}, {"EXPECTED"}, {"ANSWERED"}});
  int failed = 0;
  for (const PolicyTestResult& result : results) {
    failed += result.held ? 0 : 1;
    rows.push_back(
        {{"name", result.name}, {"held", result.held}, {"expected", result.expected}, {"answered", result.answered}});
    table.Add({result.held ? "held" : "FAILED", result.name, result.expected, result.answered});
  }
  if (context.json()) {
    context.PrintJson({{"failed", failed}, {"results", rows}});
  } else {
    context.Print(table.Text());
  }
  if (failed == 0) return kDone;
  return base::Error(base::ErrorCode::kExpectationFailed, base::StrCat(failed, " of ", results.size()));
}

void AddApply(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<ApplyOptions>();
  CLI::App* leaf =
      AddLeaf(app, "apply",
              {"Put a policy in force, atomically; what does not load leaves the old one",
               "credbroker apply -f policy.yaml --dry-run",
               "`credbroker policy explain` asks what it permits, `credbroker secret list` what it misses"});
  leaf->add_option("-f,--file", options->file, "a YAML file, a folder of them, or - for standard input")->required();
  leaf->add_flag("--dry-run", options->dry_run, "say what would change, and change nothing");
  leaf->add_option("--comment", options->comment, "kept in the history");
  OnChosen(leaf, chosen, [options](Context& context) { return Apply(context, *options); });
}

void AddReading(CLI::App& policy, Action& chosen) {
  const auto version = std::make_shared<int64_t>(0);
  CLI::App* leaf =
      AddLeaf(policy, "get",
              {"The policy in force, or an older version, as it was written", "credbroker policy get > policy.yaml",
               "edit it, then `credbroker apply -f policy.yaml --dry-run`"});
  leaf->add_option("--version", *version, "a version of the history; default: the one in force")
      ->check(CLI::NonNegativeNumber);
  OnChosen(leaf, chosen, [version](Context& context) { return Get(context, *version); });

  const auto scope = std::make_shared<std::string>();
  leaf = AddLeaf(policy, "history",
                 {"Every version with its author, newest first; or what changed for one scope, oldest first",
                  "credbroker policy history --scope web-agent", "`credbroker policy diff 3 4` shows what changed"});
  leaf->add_option("--scope", *scope, "only the versions that changed this scope, with what they changed");
  OnChosen(leaf, chosen, [scope](Context& context) { return scope->empty() ? History(context) : ScopeHistory(context, *scope); });

  const auto from = std::make_shared<int64_t>(0);
  const auto to = std::make_shared<int64_t>(0);
  leaf = AddLeaf(policy, "diff",
                 {"What changed in meaning between two versions", "credbroker policy diff 3 4",
                  "`credbroker policy get --version 3` shows a version whole"});
  leaf->add_option("from,--from", *from, "the older version; default: the one before `to`")
      ->check(CLI::NonNegativeNumber);
  leaf->add_option("to,--to", *to, "the newer version; default: the one in force")->check(CLI::NonNegativeNumber);
  OnChosen(leaf, chosen, [from, to](Context& context) { return Diff(context, *from, *to); });
}

}  // namespace

void AddPolicyCommands(CLI::App& app, Action& chosen) {
  AddApply(app, chosen);
  CLI::App* policy = AddGroup(app, "policy",
                              {"Read the policy, its history and its effect",
                               "credbroker policy explain --scope web-agent --url https://api.llm.example/v1/messages",
                               "`credbroker apply -f FILE` changes it"});
  AddReading(*policy, chosen);
  AddSimulateCommand(*policy, chosen);
  AddExplainCommand(*policy, chosen);
  AddWhyCommand(*policy, chosen);
  const auto file = std::make_shared<std::string>();
  const auto policy_path = std::make_shared<std::string>();
  CLI::App* leaf = AddLeaf(
      *policy, "test",
      {"Check expected decisions against a policy file, offline",
       "credbroker policy test policy.test.yaml --policy policy.yaml", "run it in CI before `credbroker apply`"});
  leaf->add_option("file,-f,--file", *file, "YAML or JSON: a list `questions`, each with scope, expect, and url or git")
      ->required();
  leaf->add_option("--policy", *policy_path, "the policy's file or folder; default: what the file names");
  OnChosen(leaf, chosen, [file, policy_path](Context& context) { return Test(context, *file, *policy_path); });
}

}  // namespace credbroker::client
