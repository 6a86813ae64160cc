#include "policy/decide.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "base/str.h"
#include "model/target.h"
#include "policy/api_verdict.h"
#include "policy/catalogue.h"
#include "policy/lfs.h"
#include "policy/matching.h"
#include "policy/narrow.h"
#include "policy/push.h"

namespace credbroker::policy {

// The only maker of an Allow (model/decision.h names it as friend).
struct DecisionMaker {
  static model::Allow Make(model::Allow::Fields fields) { return model::Allow(std::move(fields)); }
};

namespace {

using base::ErrorCode;
using model::Allow;
using model::Decision;
using model::Deny;
using model::Facts;
using model::GitFacts;
using model::Grant;
using GitOperation = model::GitFacts::Operation;
using RulesPointer = std::shared_ptr<const RuleSet>;

// One judgement of one request. `phases` and `labels` are those that the grant counts as having.
class Judge {
 public:
  Judge(const Facts& facts, const Grant& grant, const RulesPointer& rules, absl::Time now, Mask phases, Mask labels,
        Evidence evidence)
      : facts_(facts), grant_(grant), rules_(rules), now_(now), phases_(phases), evidence_(evidence) {
    for (const std::string& name : grant.scopes) {
      const RuleSet::IndexedScope* scope = rules->FindIndexed(name);
      if (scope == nullptr) continue;
      known_ = true;
      if ((scope->scope->labels & labels) != 0 && (scope->scope->phases & phases) != 0) scopes_.push_back(scope);
    }
  }

  Decision Run() {
    if (!known_) return Refuse(ErrorCode::kNoScope);
    match_ = rules_->FindService(facts_.authority);
    Decision decision = facts_.kind == Facts::Kind::kConnect ? Connect() : Request();
    const Allow* allow = decision.allow();
    if (allow == nullptr || Permits(grant_.narrowing, facts_, repository_, grant_.session, &ref_)) return decision;
    return Refuse(ErrorCode::kNarrowed, (*allow)->rule, (*allow)->effect_class);
  }

 private:
  Deny Refuse(ErrorCode code, std::string rule = "default-deny", std::string_view effect = {}) {
    Deny deny;
    deny.code = code;
    deny.rule = std::move(rule);
    deny.effect_class = effect;
    deny.ref = ref_;
    deny.path = path_;
    deny.pattern = pattern_;
    deny.exception = exception_;
    deny.policy_version = rules_->version();
    return deny;
  }

  Allow::Fields Fields(const Scope* scope, std::string rule, std::string_view effect) const {
    Allow::Fields out;
    out.rule = std::move(rule);
    out.effect_class = effect;
    if (scope != nullptr) {
      out.scope = scope->name;
      out.limits = scope->limits.use;
    }
    out.managed = match_.service != nullptr;
    if (out.managed) {
      out.service = match_.service->name;
      out.upstream = &match_.service->upstream;
    }
    out.policy_version = rules_->version();
    out.version = rules_;
    return out;
  }

  Decision Permit(const Scope* scope, std::string rule, std::string_view effect,
                  const model::CredentialUse* credential, bool reads_content = false) const {
    Allow::Fields out = Fields(scope, std::move(rule), effect);
    out.credential = credential;
    out.reads_content = reads_content;
    return DecisionMaker::Make(std::move(out));
  }

  // Whether some rule reaches the host in this phase; calls `found(scope, rule text, upstream)` for the first.
  template <typename Found>
  bool Reach(const model::Authority& authority, const RuleSet::ServiceMatch& match, Found found) const {
    for (const RuleSet::IndexedScope* scope : scopes_) {
      for (const auto& [service, reach] : scope->reach) {
        if (service == match.service && (reach.first & phases_) != 0) {
          found(scope->scope, reach.second, &service->upstream);
          return true;
        }
      }
      const bool egress = scope->egress.Any(authority, [&](const auto& entry) {
        if ((entry.first->phases & phases_) == 0) return false;
        found(scope->scope, std::string_view(entry.first->rule),
              match.service != nullptr ? &match.service->upstream : &entry.first->upstream);
        return true;
      });
      if (egress) return true;
    }
    return false;
  }

  // No rule reaches the host. The most helpful true reason: plain http to a host that https reaches, or an exception.
  Deny Unreachable() {
    if (facts_.authority.port == 80 && !facts_.authority.is_ip) {
      model::Authority tls = facts_.authority;
      tls.port = 443;
      if (Reach(tls, rules_->FindService(tls), [](auto&&...) {})) return Refuse(ErrorCode::kPlainHttpNotAllowed);
    }
    const Exception* exception = match_.service == nullptr ? FindException() : nullptr;
    if (exception == nullptr) return Refuse(ErrorCode::kHostNotAllowed);
    exception_ = exception->id;
    const bool active = exception->ActiveAt(now_);
    // An active exception opens a tunnel and nothing else: a request that we could read is not under it.
    return Refuse(active ? ErrorCode::kHostNotAllowed : ErrorCode::kExceptionExpired,
                  base::StrCat("exceptions/", exception->id));
  }

  // The exception that names the host for this session, an active one first.
  const Exception* FindException() const {
    const Exception* best = nullptr;
    rules_->exception_index().Any(facts_.authority, [&](const Exception* exception) {
      const bool ours = exception->scopes.empty() ||
                        std::any_of(scopes_.begin(), scopes_.end(),
                                    [&](const auto* scope) { return Holds(exception->scopes, scope->scope->name); });
      if (ours && (best == nullptr || exception->ActiveAt(now_))) best = exception;
      return ours && exception->ActiveAt(now_);
    });
    return best;
  }

  Decision Connect() {
    Allow::Fields out = Fields(nullptr, {}, "connect");
    out.handling = model::Handling::kIntercept;
    const bool reached = Reach(facts_.authority, match_,
                               [&](const Scope* scope, std::string_view rule, const model::Upstream* upstream) {
                                 out.scope = scope->name;
                                 out.limits = scope->limits.use;
                                 out.rule = rule;
                                 out.upstream = upstream;
                               });
    if (reached) return DecisionMaker::Make(std::move(out));
    const Exception* exception = match_.service == nullptr ? FindException() : nullptr;
    if (exception == nullptr || !exception->ActiveAt(now_)) return Unreachable();
    exception_ = exception->id;
    if (NarrowsContent(grant_.narrowing))
      return Refuse(ErrorCode::kNarrowed, base::StrCat("exceptions/", exception->id), "tunnel");
    out.handling = model::Handling::kTunnel;
    out.rule = base::StrCat("exceptions/", exception->id);
    out.exception = exception->id;
    out.effect_class = "tunnel";
    out.upstream = &exception->upstream;
    return DecisionMaker::Make(std::move(out));
  }

  Decision Request() {
    // The edge has checked it; a path that has two readings must not depend on that (B27).
    const bool gitlab = match_.service != nullptr && match_.service->preset == Preset::kGitlab && match_.host->api;
    const auto slashes = gitlab ? model::EncodedSlash::kGitlab : model::EncodedSlash::kRefused;
    if (!model::CheckPath(facts_.path, slashes).ok()) return Refuse(ErrorCode::kBadPath);
    if (!Reach(facts_.authority, match_, [](auto&&...) {})) return Unreachable();
    if (match_.service == nullptr) return Egress(ErrorCode::kNoRule, IsWriting(facts_.method) ? "write" : "read");
    if (facts_.scheme == model::Scheme::kHttp && !match_.service->plain_http)
      return Refuse(ErrorCode::kPlainHttpNotAllowed);
    if (std::string denied = DeniedBy(); !denied.empty()) {
      return Refuse(ErrorCode::kNoRule, std::move(denied), IsWriting(facts_.method) ? "write" : "read");
    }
    if (facts_.git) return Git(*facts_.git);
    return match_.service->preset == Preset::kNone ? Endpoints(ErrorCode::kNoRule, {}, false) : Api();
  }

  using Candidates = absl::InlinedVector<ScopedRule, 8>;
  Candidates FindRules() const {
    Candidates out;
    for (const RuleSet::IndexedScope* scope : scopes_) {
      for (const RepositoryRule* rule : RuleSet::FindRepository(*scope, *match_.service, repository_))
        out.push_back({scope->scope, rule});
    }
    return out;
  }

  static const model::CredentialUse* GitUse(const RepositoryRule& rule) {
    return rule.credential == nullptr ? nullptr : &rule.credential->git;
  }

  Decision Git(const GitFacts& git) {
    if (!match_.host->git || git.operation == GitOperation::kUnsupported) return Refuse(ErrorCode::kGitNotSupported);
    repository_ = git.repository;
    const bool lfs = git.lfs.part != model::LfsFacts::Part::kNone;
    const bool fetch = git.operation == GitOperation::kLfsRead || git.operation == GitOperation::kFetch || git.operation == GitOperation::kDiscoverFetch;
    const std::string_view effect = fetch ? "read" : "push";
    const Candidates rules = FindRules();
    if (rules.empty()) return Refuse(ErrorCode::kRepositoryNotAllowed, "default-deny", effect);
    if (lfs) return Lfs(git, rules);
    if (!fetch) return Push(git, rules);
    for (const ScopedRule& scoped : rules) {
      if (scoped.rule->fetch)
        return Permit(scoped.scope, scoped.rule->rule + "/git.fetch", effect, GitUse(*scoped.rule));
    }
    return Refuse(ErrorCode::kFetchNotAllowed, rules.front().rule->rule, effect);
  }

  Decision Lfs(const GitFacts& git, const Candidates& rules) {
    PushVerdict verdict = JudgeLfs(rules, *match_.service, git, grant_.session);
    ref_ = std::move(verdict.ref);
    const RepositoryRule* by = verdict.by.rule;
    std::string rule = by == nullptr ? "default-deny" : base::StrCat(by->rule, "/", verdict.rule_part);
    if (verdict.code != ErrorCode::kNone) return Refuse(verdict.code, std::move(rule), verdict.effect_class);
    // What lies elsewhere is reached with what the host gave for it.
    const bool elsewhere = git.lfs.storage && StorageOf(*match_.service, *git.lfs.storage) == LfsStorage::kListed;
    return Permit(verdict.by.scope, std::move(rule), verdict.effect_class, elsewhere ? nullptr : GitUse(*by));
  }

  Decision Push(const GitFacts& git, const Candidates& rules) {
    Candidates pushing;
    std::copy_if(rules.begin(), rules.end(), std::back_inserter(pushing),
                 [](const ScopedRule& s) { return s.rule->push.has_value(); });
    if (pushing.empty()) return Refuse(ErrorCode::kPushNotAllowed, rules.front().rule->rule, "push");
    // Discovery and the probe move nothing. What they show is no more than a fetch shows, and the push is judged
    // itself.
    if (git.operation == GitOperation::kDiscoverPush || git.changes.empty()) {
      const ScopedRule& first = pushing.front();
      return Permit(first.scope, first.rule->rule + "/git.push", "push", GitUse(*first.rule), AnyReadsContent(pushing));
    }
    const bool reads_base = git.operation == GitOperation::kReadBase;
    PushVerdict verdict = JudgePush(pushing, git, grant_.session, reads_base ? Evidence::kAssumeGood : evidence_);
    if (reads_base && verdict.code == ErrorCode::kNone && verdict.protected_paths.empty()) verdict.code = ErrorCode::kGitNotSupported;
    ref_ = std::move(verdict.ref);
    path_ = std::move(verdict.path);
    pattern_ = std::move(verdict.pattern);
    const RepositoryRule* by = verdict.by.rule;
    std::string rule = by == nullptr ? "default-deny" : base::StrCat(by->rule, "/", verdict.rule_part);
    if (verdict.code != ErrorCode::kNone) return Refuse(verdict.code, std::move(rule), verdict.effect_class);
    if (reads_base) return Permit(verdict.by.scope, base::StrCat(by->rule, "/git.push.deny_paths"), "read", GitUse(*by));
    Allow::Fields out = Fields(verdict.by.scope, std::move(rule), verdict.effect_class);
    out.credential = GitUse(*by);
    out.proves_ancestry = verdict.proves_ancestry;
    out.reads_content = verdict.reads_content;
    out.protected_paths = std::move(verdict.protected_paths);
    return DecisionMaker::Make(std::move(out));
  }

  // Forges: what the catalogue calls dangerous, and writes that it does not know, are out of reach of endpoint rules.
  Decision Api() {
    ApiVerdict verdict = JudgeApi({facts_, match_, scopes_, grant_.session, now_}, &api_repository_);
    repository_ = api_repository_;
    if (verdict.code != ErrorCode::kNone) {
      ref_ = std::move(verdict.ref);
      if (!verdict.rule.empty()) return Refuse(verdict.code, std::move(verdict.rule), verdict.effect_class);
      return Endpoints(verdict.code, verdict.effect_class, verdict.closed);
    }
    const Credential* credential = verdict.by.rule->credential;
    return Permit(verdict.by.scope, std::move(verdict.rule), verdict.effect_class,
                  credential == nullptr ? nullptr : &credential->api);
  }

  // The rule whose `deny` names the request, or nothing.
  std::string DeniedBy() const {
    for (const RuleSet::IndexedScope* scope : scopes_) {
      for (const EndpointRule& rule : scope->scope->endpoints) {
        if (rule.service != match_.service || (rule.phases & phases_) == 0) continue;
        if (FindRow(rule.deny, facts_.method, facts_.path) != nullptr) return rule.rule + "/deny";
      }
    }
    return {};
  }

  // `otherwise` and `effect` say what to refuse with; `closed` that no rule can allow it.
  Decision Endpoints(ErrorCode otherwise, std::string_view effect, bool closed) {
    if (effect.empty()) effect = IsWriting(facts_.method) ? "write" : "read";
    if (closed) return Refuse(otherwise, "default-deny", effect);
    for (const RuleSet::IndexedScope* scope : scopes_) {
      for (const EndpointRule& rule : scope->scope->endpoints) {
        if (rule.service != match_.service || (rule.phases & phases_) == 0) continue;
        if (FindRow(rule.allow, facts_.method, facts_.path) == nullptr) continue;
        return Permit(scope->scope, rule.rule, effect, rule.credential == nullptr ? nullptr : &rule.credential->api);
      }
    }
    return Egress(otherwise, effect);
  }

  // `otherwise`: the code when no entry takes the request. On a service's host, what its rules deny was looked at
  // before.
  Decision Egress(ErrorCode otherwise, std::string_view effect) {
    const bool pushes = facts_.git && (facts_.git->operation == GitOperation::kPush ||
                                       facts_.git->operation == GitOperation::kDiscoverPush);
    if (pushes) return Refuse(ErrorCode::kPushNotAllowed, "default-deny", "push");
    bool plain_refused = false;
    for (const RuleSet::IndexedScope* scope : scopes_) {
      const EgressRule* found = nullptr;
      scope->egress.Any(facts_.authority, [&](const auto& entry) {
        const auto& [rule, plain_http] = entry;
        if ((rule->phases & phases_) == 0 || !EgressTakes(*rule, facts_.method, facts_.path)) return false;
        const bool plain_bad = facts_.scheme == model::Scheme::kHttp && !plain_http;
        plain_refused = plain_refused || plain_bad;
        if (!plain_bad) found = rule;
        return found != nullptr;
      });
      if (found == nullptr) continue;
      Allow::Fields out = Fields(scope->scope, found->rule, effect);
      if (out.upstream == nullptr) out.upstream = &found->upstream;
      return DecisionMaker::Make(std::move(out));
    }
    return Refuse(plain_refused ? ErrorCode::kPlainHttpNotAllowed : otherwise, "default-deny", effect);
  }

  const Facts& facts_;
  const Grant& grant_;
  const RulesPointer& rules_;
  absl::Time now_;
  Mask phases_;
  Evidence evidence_;
  bool known_ = false;
  absl::InlinedVector<const RuleSet::IndexedScope*, 8> scopes_;
  RuleSet::ServiceMatch match_;
  std::string_view repository_;
  std::string api_repository_;
  std::string ref_;
  std::string path_, pattern_;
  std::string exception_;
};

Decision DecideWith(const Facts& facts, const Grant& grant, const RulesPointer& rules, absl::Time now,
                    Evidence evidence) {
  const Mask phase = Bit(grant.phase);
  const Mask label = Bit(grant.label);
  Decision decision = Judge(facts, grant, rules, now, phase, label, evidence).Run();
  if (decision.allow() != nullptr || !rules->has_limits()) return decision;
  // Denied: would it hold in another phase, or for another workload? Then that is the reason to name.
  Deny deny = *decision.deny();
  const Decision any_phase = Judge(facts, grant, rules, now, kAny, label, evidence).Run();
  const Decision anybody = Judge(facts, grant, rules, now, kAny, kAny, evidence).Run();
  const Allow* allow = any_phase.allow() != nullptr ? any_phase.allow() : anybody.allow();
  if (allow == nullptr || !(*allow)->exception.empty()) return decision;
  deny.code = any_phase.allow() != nullptr ? ErrorCode::kPhaseNotAllowed : ErrorCode::kLabelNotAllowed;
  deny.rule = (*allow)->rule;
  deny.effect_class = (*allow)->effect_class;
  return deny;
}

}  // namespace

Decision Decide(const Facts& facts, const Grant& grant, const RulesPointer& rules, absl::Time now) {
  return DecideWith(facts, grant, rules, now, Evidence::kAsStated);
}

BodyRule BodyRuleOf(const Facts& facts, const RuleSet& rules) {
  if (facts.kind != Facts::Kind::kRequest || facts.git) return BodyRule::kNone;
  const RuleSet::ServiceMatch match = rules.FindService(facts.authority);
  if (match.service == nullptr) return BodyRule::kNone;
  const auto operation = ClassifyOn(*match.service, *match.host, facts.method, facts.path);
  return operation ? operation->body : BodyRule::kNone;
}

PushNeeds NeedsOfPush(const Facts& facts, const Grant& grant, const RulesPointer& rules) {
  PushNeeds out;
  if (!facts.git || facts.git->operation != GitOperation::kPush || facts.git->changes.empty()) return out;
  const Decision decision = DecideWith(facts, grant, rules, absl::InfiniteFuture(), Evidence::kAssumeGood);
  const Allow* allow = decision.allow();
  if (allow == nullptr) return out;
  out.ancestry = (*allow)->proves_ancestry;
  out.content = (*allow)->reads_content;
  out.protected_paths = (*allow)->protected_paths;
  return out;
}

}  // namespace credbroker::policy
