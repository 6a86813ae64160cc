#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/audit_table.h"
#include "client/command.h"
#include "client/policy_source.h"
#include "client/record_replay.h"
#include "client/record_words.h"
#include "client/table.h"
#include "credbroker/v1/audit.pb.h"
#include "credbroker/v1/policy.pb.h"
#include "nlohmann/json.hpp"
#include "policy/diff.h"

namespace credbroker::client {
namespace {

using Rules = std::shared_ptr<const policy::RuleSet>;

constexpr std::size_t kMaxNear = 20;
constexpr int kMaxHistory = 200;

// The refusal of a request id, or the record of that id.
absl::StatusOr<Json> FetchRefusal(Broker& broker, const std::string& id) {
  v1::GetRecordRequest request;
  v1::GetRecordReply reply;
  request.set_id(id);
  RETURN_IF_ERROR(broker.GetRecord(request, &reply));
  Json first = RecordJson(reply.json(0));
  for (const std::string& line : reply.json()) {
    Json record = RecordJson(line);
    if (TextCell(record, "kind") == "deny") return record;
  }
  return first;
}

absl::StatusOr<std::vector<std::string>> ScopesOf(Broker& broker, const std::string& token) {
  v1::ListRecordsRequest request;
  v1::ListRecordsReply reply;
  request.set_kind("issue");
  request.set_token_id(token);
  request.set_limit(1);
  RETURN_IF_ERROR(broker.ListRecords(request, &reply));
  std::vector<std::string> scopes;
  if (reply.json_size() == 0) return scopes;
  for (const Json& scope : RecordJson(reply.json(0)).value("scopes", Json::array())) {
    if (scope.is_string()) scopes.push_back(scope.get<std::string>());
  }
  return scopes;
}

// What would let the request pass, the smallest step first: nothing any more, another phase, a proven fast-forward, another
// scope.
class Search {
 public:
  Search(Replay replay, Rules rules) : replay_(std::move(replay)), rules_(std::move(rules)) {}

  Json Near(const std::vector<std::string>& scopes) {
    replay_.grant.scopes = scopes;
    const model::Grant own = replay_.grant;
    Try("the policy in force allows it now", own);
    model::Grant other = own;
    other.phase = own.phase == model::Phase::kAgent ? model::Phase::kSetup : model::Phase::kAgent;
    Try(base::StrCat("in phase ", model::PhaseName(other.phase)), other);
    for (const auto& [name, scope] : rules_->scopes()) {
      if (std::find(scopes.begin(), scopes.end(), name) != scopes.end()) continue;
      model::Grant granted = own;
      granted.scopes = {name};
      Try(base::StrCat("in a session under scope ", name, " (requesters: ", Joined(scope.requesters), ")"), granted);
    }
    AddRefs(scopes);
    return near_;
  }

 private:
  void Try(const std::string& step, const model::Grant& grant) {
    if (near_.size() >= kMaxNear) return;
    for (std::size_t i = 0; i < replay_.facts.size(); ++i) {
      const Ruling ruling = Rule(replay_.facts[i], grant, rules_, base::SystemClock().Now());
      if (!ruling.allowed) continue;
      const bool proven = replay_.facts.size() > 1 && i == 0;
      near_.push_back({{"step", proven ? base::StrCat(step, ", as a fast-forward") : step}, {"rule", ruling.rule}});
      return;
    }
  }

  // Where a push to the same repository may go.
  void AddRefs(const std::vector<std::string>& scopes) {
    const model::Facts& facts = replay_.facts.front();
    if (!facts.git || facts.git->changes.empty()) return;
    const policy::Service* service = rules_->FindService(facts.authority).service;
    for (const std::string& name : scopes) {
      const policy::RuleSet::IndexedScope* scope = rules_->FindIndexed(name);
      if (scope == nullptr || service == nullptr) continue;
      for (const policy::RepositoryRule* rule : policy::RuleSet::FindRepository(*scope, *service, facts.git->repository)) {
        if (!rule->push || near_.size() >= kMaxNear) continue;
        std::vector<std::string> refs;
        for (const policy::RefPattern& pattern : rule->push->refs) refs.push_back(pattern.Filled(replay_.grant.session));
        near_.push_back({{"step", base::StrCat("pushing to ", Joined(refs))}, {"rule", rule->rule}});
      }
    }
  }

  Replay replay_;
  const Rules rules_;
  Json near_ = Json::array();
};

absl::StatusOr<int> Why(Context& context, const std::string& id) {
  ASSIGN_OR_RETURN(const Json record, FetchRefusal(context.broker(), id));
  Json words = Json::array();
  for (const std::string& sentence : RecordWords(record)) words.push_back(sentence);
  Json near = Json::array();
  std::string unknown;
  // Without the right to read the policy the words alone are the answer.
  const absl::StatusOr<Rules> rules = FetchRules(context.broker(), 0);
  const absl::StatusOr<Replay> replay = ReadReplay(record);
  if (!rules.ok()) unknown = std::string(rules.status().message());
  if (!replay.ok()) unknown = std::string(replay.status().message());
  if (rules.ok() && replay.ok() && TextCell(record, "kind") == "deny") {
    ASSIGN_OR_RETURN(const std::vector<std::string> scopes, ScopesOf(context.broker(), replay->grant.token_id));
    near = Search(*replay, *rules).Near(scopes);
  }
  if (context.json()) {
    context.PrintJson({{"record", record}, {"words", words}, {"would_be_allowed", near}, {"not_searched", unknown}});
    return kDone;
  }
  for (const Json& sentence : words) context.Print(base::StrCat(Cell(sentence.get<std::string>(), 2000), "\n"));
  for (const Json& step : near) {
    context.Print(base::StrCat("It would pass ", Cell(TextCell(step, "step"), 600), ": rule ", Cell(TextCell(step, "rule"), 200), ".\n"));
  }
  if (TextCell(record, "kind") != "deny") return kDone;
  if (!unknown.empty()) {
    context.Print(base::StrCat("What would let it pass was not searched: ", Cell(unknown, 300), ".\n"));
  } else if (near.empty()) {
    context.Print("No rule of the policy in force is near it.\n");
  }
  return kDone;
}

// Lines of a diff that speak of a scope: `+ scope web-agent: push ...`.
bool SpeaksOf(const std::string& line, const std::string& scope) {
  const std::string subject = base::StrCat("scope ", scope);
  const std::size_t at = line.find(subject);
  if (at == std::string::npos) return false;
  const std::size_t end = at + subject.size();
  return end == line.size() || line[end] == ':' || line[end] == ' ' || line[end] == ',';
}

void AddUnlessUnchanged(const v1::PolicyVersion& version, const policy::RuleSet& before, const policy::RuleSet& after,
                        const std::string& scope, Json* steps) {
  Json changes = Json::array();
  for (const std::string& line : policy::DiffRules(before, after).lines) {
    if (SpeaksOf(line, scope)) changes.push_back(line);
  }
  if (changes.empty()) return;
  Json step = ToJson(version);
  step["changes"] = changes;
  steps->push_back(std::move(step));
}

}  // namespace

absl::StatusOr<int> ScopeHistory(Context& context, const std::string& scope) {
  v1::ListPolicyVersionsReply reply;
  RETURN_IF_ERROR(context.broker().ListPolicyVersions({}, &reply));
  Json steps = Json::array();
  Rules before = policy::RuleSet::Empty();
  const int oldest = std::min(reply.versions_size(), kMaxHistory);
  if (oldest < reply.versions_size()) {
    context.Note(base::StrCat("note: only the newest ", kMaxHistory, " versions are compared"));
    ASSIGN_OR_RETURN(before, FetchRules(context.broker(), reply.versions(oldest).version()));
  }
  for (int i = oldest - 1; i >= 0; --i) {
    const absl::StatusOr<Rules> after = FetchRules(context.broker(), reply.versions(i).version());
    if (!after.ok()) {
      context.Note(base::StrCat("note: version ", reply.versions(i).version(), " cannot be read any more"));
      continue;
    }
    AddUnlessUnchanged(reply.versions(i), *before, **after, scope, &steps);
    before = *after;
  }
  if (steps.empty()) return base::Error(base::ErrorCode::kScopeNotFound, scope);
  if (context.json()) {
    context.PrintJson(steps);
    return kDone;
  }
  for (const Json& step : steps) {
    context.Print(base::StrCat("version ", TextCell(step, "version"), "  ", TimeCell(step["applied_at"]), "  ",
                               Cell(TextCell(step, "author"), 60), "  ", Cell(TextCell(step, "comment"), 200), "\n"));
    for (const Json& line : step["changes"]) context.Print(base::StrCat("  ", Cell(line.get<std::string>(), 300), "\n"));
  }
  return kDone;
}

void AddWhyCommand(CLI::App& parent, Action& chosen) {
  const auto id = std::make_shared<std::string>();
  CLI::App* leaf = AddLeaf(parent, "why",
                           {"A refusal in words, and what would let the request pass under the policy in force",
                            "credbroker policy why r-7kq2-12", "`credbroker audit show ID --chain` shows what it hangs on"});
  leaf->add_option("id", *id, "the request id that the refusal named, or a record's id")->required();
  OnChosen(leaf, chosen, [id](Context& context) { return Why(context, *id); });
}

}  // namespace credbroker::client
