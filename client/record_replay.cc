#include "client/record_replay.h"

#include "base/duration.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "model/authority.h"
#include "model/target.h"
#include "nlohmann/json.hpp"
#include "policy/decide.h"

namespace credbroker::client {
namespace {

using model::Facts;
using model::RefChange;

absl::Status Cannot(std::string_view why) { return base::Error(base::ErrorCode::kBadArgument, why); }

// The ledger escapes with backslashes, cuts with `...[` and masks with `[token:`.
bool IsExact(std::string_view text) {
  return text.find('\\') == std::string_view::npos && text.find("...[") == std::string_view::npos &&
         text.find("[token:") == std::string_view::npos;
}

absl::StatusOr<std::vector<RefChange>> ChangesOf(const Json& record) {
  std::vector<RefChange> changes;
  const auto refs = record.find("refs");
  if (refs == record.end() || !refs->is_array()) return changes;
  for (const Json& ref : *refs) {
    RefChange change{.ref = TextCell(ref, "ref"), .old_id = TextCell(ref, "old_id"), .new_id = TextCell(ref, "new_id")};
    const std::string kind = TextCell(ref, "change");
    if (!IsExact(change.ref) || kind.empty()) return Cannot("its refs were cut or escaped in the record");
    change.kind = kind == "create"   ? RefChange::Kind::kCreate
                  : kind == "delete" ? RefChange::Kind::kDelete
                                     : RefChange::Kind::kUpdate;
    change.ancestry = RefChange::Ancestry::kNotApplicable;
    changes.push_back(std::move(change));
  }
  return changes;
}

// The service of a discovery stands in the query, whose values are not recorded; the effect class tells it.
std::optional<std::string> QueryOf(const std::string& path, const std::string& effect) {
  if (!path.ends_with("/info/refs")) return std::nullopt;
  if (effect == "push") return "service=git-receive-pack";
  if (effect == "fetch") return "service=git-upload-pack";
  return std::nullopt;
}

absl::StatusOr<Facts> BareFacts(const Json& record) {
  const std::string host = TextCell(record, "host");
  const std::string path = TextCell(record, "path");
  const std::string method = TextCell(record, "method");
  const auto port = record.find("port");
  if (host.empty() || method.empty()) return Cannot("it holds no request");
  if (!IsExact(host) || !IsExact(path)) return Cannot("its path or host was cut or masked in the record");
  Facts facts{.scheme = TextCell(record, "scheme") == "http" ? model::Scheme::kHttp : model::Scheme::kHttps, .method = method};
  const auto authority = model::ParseHost(host);
  if (!authority.ok() || port == record.end() || !port->is_number_integer()) return Cannot("its host cannot be read");
  facts.authority = *authority;
  facts.authority.port = port->get<uint16_t>();
  facts.path = path.empty() ? "/" : path;
  if (method == "CONNECT") {
    facts.kind = Facts::Kind::kConnect;
    return facts;
  }
  if (!model::CheckPath(facts.path).ok()) return Cannot("its path is not in canonical form");
  const std::optional<std::string> query = QueryOf(facts.path, TextCell(record, "effect_class"));
  if (facts.path.ends_with("/info/refs") && !query) return Cannot("the git service stands in a query value, which is not recorded");
  facts.git = model::DescribeGit(method, facts.path, query ? std::optional<std::string_view>(*query) : std::nullopt);
  return facts;
}

// Both readings of a push that updates refs: the record does not say which was proven.
std::vector<Facts> Readings(Facts facts, std::vector<RefChange> changes) {
  if (!facts.git) return {std::move(facts)};
  facts.git->changes = std::move(changes);
  bool updates = false;
  for (RefChange& change : facts.git->changes) {
    if (change.kind != RefChange::Kind::kUpdate) continue;
    updates = true;
    change.ancestry = RefChange::Ancestry::kFastForward;
  }
  if (!updates) return {std::move(facts)};
  Facts unproven = facts;
  for (RefChange& change : unproven.git->changes) {
    if (change.kind == RefChange::Kind::kUpdate) change.ancestry = RefChange::Ancestry::kUnproven;
  }
  return {std::move(facts), std::move(unproven)};
}

}  // namespace

absl::StatusOr<Replay> ReadReplay(const Json& record) {
  if (TextCell(record, "session").empty()) return Cannot("nobody was known: no session");
  const std::string rule = TextCell(record, "rule");
  if (rule.starts_with("edge/")) return Cannot(base::StrCat("not the policy decided, but ", rule));
  Replay replay;
  ASSIGN_OR_RETURN(Facts facts, BareFacts(record));
  ASSIGN_OR_RETURN(std::vector<RefChange> changes, ChangesOf(record));
  replay.facts = Readings(std::move(facts), std::move(changes));
  replay.grant.session = TextCell(record, "session");
  replay.grant.token_id = TextCell(record, "token_id");
  replay.grant.requester = TextCell(record, "requester");
  const auto phase = model::ParsePhase(TextCell(record, "phase"));
  const auto label = model::ParseLabel(TextCell(record, "label"));
  const auto at = base::ParseTime(TextCell(record, "time"));
  if (!phase.ok() || !label.ok() || !at.ok()) return Cannot("its phase, label or time cannot be read");
  replay.grant.phase = *phase;
  replay.grant.label = *label;
  replay.grant.expires_at = absl::InfiniteFuture();
  replay.at = *at;
  return replay;
}

Ruling Rule(const Facts& facts, const model::Grant& grant, const std::shared_ptr<const policy::RuleSet>& rules, absl::Time now) {
  const model::Decision decision = policy::Decide(facts, grant, rules, now);
  if (const model::Allow* allow = decision.allow()) return {.allowed = true, .rule = (*allow)->rule};
  const model::Deny& deny = *decision.deny();
  return {.rule = deny.rule, .code = std::string(base::Lookup(deny.code).name)};
}

Ruling RecordedRuling(const Json& record) {
  const bool allowed = TextCell(record, "kind") != "deny";
  return {.allowed = allowed, .rule = TextCell(record, "rule"), .code = allowed ? std::string() : TextCell(record, "code")};
}

std::string RulingText(const Ruling& ruling) {
  if (ruling.allowed) return base::StrCat("allow by ", ruling.rule);
  return base::StrCat("deny ", ruling.code, " by ", ruling.rule);
}

absl::StatusOr<Ruling> Rejudge(const Json& record, const Replay& replay, const std::shared_ptr<const policy::RuleSet>& before,
                               const std::shared_ptr<const policy::RuleSet>& after) {
  const Ruling recorded = RecordedRuling(record);
  std::optional<Ruling> answer;
  for (const Facts& facts : replay.facts) {
    if (Rule(facts, replay.grant, before, replay.at) != recorded) continue;
    const Ruling next = Rule(facts, replay.grant, after, replay.at);
    if (answer && *answer != next) return Cannot("it depends on whether the push was a fast-forward, which is not recorded");
    answer = next;
  }
  if (!answer) return Cannot("its own policy version does not repeat the ruling: a narrowed token or a body decided");
  return *answer;
}

}  // namespace credbroker::client
