#include "policy/api_verdict.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "base/str.h"
#include "policy/body_rules.h"
#include "policy/graphql_rules.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;

bool IsWriting(std::string_view method) { return method != "GET" && method != "HEAD" && method != "OPTIONS"; }

bool MovesRef(std::string_view effect) {
  return Covers("ref-write", effect) || effect == "force-ref" || effect == "workflow.file";
}

// `group%2Fname` as a name. False when something else is encoded.
bool DecodeSlashes(std::string_view text, std::string* out) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out->push_back(text[at]);
      continue;
    }
    if (at + 2 >= text.size() || text[at + 1] != '2' || (text[at + 2] | 0x20) != 'f') return false;
    out->push_back('/');
    at += 2;
  }
  return true;
}

using Candidates = absl::InlinedVector<ScopedRule, 8>;

Candidates RulesFor(const ApiCase& request, std::string_view repository, bool by_id) {
  Candidates out;
  for (const RuleSet::IndexedScope* scope : request.scopes) {
    if (repository.empty() || by_id) {
      for (const RepositoryRule& rule : scope->scope->repositories) {
        if (rule.service == request.match.service && (!by_id || rule.id == repository)) out.push_back({scope->scope, &rule});
      }
      continue;
    }
    for (const RepositoryRule* rule : RuleSet::FindRepository(*scope, *request.match.service, repository))
      out.push_back({scope->scope, rule});
  }
  return out;
}

bool AnyCovers(const std::vector<std::string>& granted, std::string_view effect) {
  return std::any_of(granted.begin(), granted.end(), [&](const std::string& name) { return Covers(name, effect); });
}

ApiVerdict Refused(ErrorCode code, std::string_view effect, bool closed, std::string rule = {}) {
  return {.code = code, .by = {}, .rule = std::move(rule), .effect_class = effect, .ref = {}, .closed = closed};
}

ApiVerdict Allowed(const ScopedRule& by, std::string_view part, std::string_view effect) {
  return {.code = ErrorCode::kNone, .by = by, .rule = base::StrCat(by.rule->rule, part, effect), .effect_class = effect, .ref = {}};
}

ApiVerdict Dangerous(const ApiCase& request, const Candidates& rules, std::string_view effect) {
  ApiVerdict out = Refused(ErrorCode::kClassNotAllowed, effect, true);
  for (const ScopedRule& scoped : rules) {
    for (const DangerousGrant& grant : scoped.rule->dangerous) {
      if (!AnyCovers(grant.classes, effect)) continue;
      if (request.now < grant.expires) return Allowed(scoped, "/dangerous.", effect);
      out = Refused(ErrorCode::kExceptionExpired, effect, true, base::StrCat(scoped.rule->rule, "/dangerous.", effect));
    }
  }
  return out;
}

}  // namespace

ApiVerdict JudgeRule(const ApiCase& request, const ScopedRule& rule, std::string_view effect) {
  if (!IsOrdinary(effect)) return Dangerous(request, {rule}, effect);
  if (AnyCovers(rule.rule->api, effect)) return Allowed(rule, "/api.", effect);
  return Refused(ErrorCode::kClassNotAllowed, effect, false);
}

ApiVerdict JudgeClass(const ApiCase& request, std::string_view repository, bool by_id, std::string_view effect) {
  const bool host = repository.empty();
  const Candidates rules = RulesFor(request, repository, by_id);
  if (host && effect != "read-host" && effect != "read-outside") return Refused(ErrorCode::kClassNotAllowed, effect, true);
  if (!IsOrdinary(effect)) return Dangerous(request, rules, effect);
  for (const ScopedRule& scoped : rules) {
    if (AnyCovers(scoped.rule->api, effect)) return Allowed(scoped, "/api.", effect);
  }
  return Refused(rules.empty() && !host ? ErrorCode::kRepositoryNotAllowed : ErrorCode::kClassNotAllowed, effect, false);
}

ApiVerdict JudgeRef(const ApiCase& request, std::string_view repository, std::string_view effect, const model::RefChange& change) {
  ApiVerdict out = JudgeClass(request, repository, false, effect);
  if (out.code != ErrorCode::kNone) return out;
  Candidates pushing = RulesFor(request, repository, false);
  pushing.erase(std::remove_if(pushing.begin(), pushing.end(), [](const ScopedRule& s) { return !s.rule->push; }), pushing.end());
  if (pushing.empty()) return Refused(ErrorCode::kPushNotAllowed, effect, true, out.rule);
  // What a call of the API puts on a branch is in no pack: where a rule reads content, nothing is known of it.
  model::GitFacts git;
  git.operation = model::GitFacts::Operation::kPush;
  git.repository = repository;
  git.changes = {change};
  const PushVerdict push = JudgePush(pushing, git, request.session, Evidence::kAsStated);
  if (push.code == ErrorCode::kNone) return out;
  const RepositoryRule* by = push.by.rule;
  ApiVerdict refused = Refused(push.code, effect, true, by == nullptr ? out.rule : base::StrCat(by->rule, "/", push.rule_part));
  refused.ref = push.ref;
  return refused;
}

ApiVerdict JudgeApi(const ApiCase& request, std::string* repository) {
  const bool writing = IsWriting(request.facts.method);
  const auto operation = ClassifyOn(*request.match.service, *request.match.host, request.facts.method, request.facts.path);
  if (!operation) return Refused(ErrorCode::kUnknownOperation, {}, writing);
  if (operation->body == BodyRule::kGraphql) return JudgeGraphql(request, repository);
  if (operation->encoded && !DecodeSlashes(operation->repository, repository)) return Refused(ErrorCode::kUnknownOperation, {}, writing);
  if (!operation->encoded) *repository = operation->repository;
  const BodyVerdict body = JudgeBody(*operation, *repository, request.facts.body.get());
  if (body.code == ErrorCode::kCrossRepository) {
    // What the class refuses anyway says so, by each road.
    ApiVerdict first = JudgeClass(request, *repository, operation->by_id, body.effect_class);
    if (first.code != ErrorCode::kNone) return first;
  }
  if (body.code != ErrorCode::kNone) return Refused(body.code, body.effect_class, true);
  if (body.change && !operation->by_id) return JudgeRef(request, *repository, body.effect_class, *body.change);
  ApiVerdict out = JudgeClass(request, *repository, operation->by_id, body.effect_class);
  // It moves a ref that we cannot name, so that no push rule can be asked.
  if (out.code == ErrorCode::kNone && MovesRef(body.effect_class))
    return Refused(ErrorCode::kBodyUndecided, body.effect_class, true, out.rule);
  return out;
}

}  // namespace credbroker::policy
