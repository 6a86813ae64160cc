#include "policy/push.h"

#include <algorithm>

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using model::RefChange;

bool AnyMatches(const std::vector<RefPattern>& patterns, std::string_view ref, std::string_view session) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const RefPattern& pattern) { return pattern.Matches(ref, session); });
}

// A tag that moves is forced whatever its history: nobody expects a tag to move.
bool IsForced(const RefChange& change, Ancestry ancestry) {
  if (change.kind != RefChange::Kind::kUpdate) return false;
  if (change.ref.starts_with("refs/tags/")) return true;
  return ancestry == Ancestry::kAsStated && change.ancestry != RefChange::Ancestry::kFastForward;
}

ErrorCode Missing(const PushRule& push, const RefChange& change, bool forced) {
  switch (change.kind) {
    case RefChange::Kind::kCreate:
      return push.create ? ErrorCode::kNone : ErrorCode::kCreateNotAllowed;
    case RefChange::Kind::kDelete:
      return push.remove ? ErrorCode::kNone : ErrorCode::kDeleteNotAllowed;
    case RefChange::Kind::kUpdate:
      return forced && !push.force ? ErrorCode::kForceNotAllowed : ErrorCode::kNone;
  }
  return ErrorCode::kRefNotAllowed;
}

std::string_view EffectOf(const RefChange& change, bool forced) {
  switch (change.kind) {
    case RefChange::Kind::kCreate:
      return "push.create";
    case RefChange::Kind::kDelete:
      return "push.delete";
    case RefChange::Kind::kUpdate:
      return forced ? "push.force" : "push";
  }
  return "push";
}

// The more dangerous of two classes names the whole push.
int Rank(std::string_view effect) {
  if (effect == "push.force") return 3;
  if (effect == "push.delete") return 2;
  return effect == "push.create" ? 1 : 0;
}

PushVerdict Refused(ErrorCode code, const RefChange& change, ScopedRule by, std::string_view part, bool forced) {
  PushVerdict out;
  out.code = code;
  out.by = by;
  out.rule_part = part;
  out.ref = change.ref;
  out.effect_class = EffectOf(change, forced);
  return out;
}

// One change under the rules that carry `credential`.
PushVerdict JudgeChange(std::span<const ScopedRule> rules, const Credential* credential, const RefChange& change,
                        std::string_view session, Ancestry ancestry) {
  const bool forced = IsForced(change, ancestry);
  if (!IsPlainRef(change.ref)) return Refused(ErrorCode::kOddRef, change, {}, {}, forced);
  PushVerdict out = Refused(ErrorCode::kRefNotAllowed, change, {}, {}, forced);
  bool force_allowed = false;
  for (const ScopedRule& scoped : rules) {
    const PushRule& push = *scoped.rule->push;
    if (AnyMatches(push.deny_refs, change.ref, session)) {
      return Refused(ErrorCode::kRefNotAllowed, change, scoped, "git.push.deny_refs", forced);
    }
    if (!AnyMatches(push.refs, change.ref, session)) continue;
    if (!push.deny_paths.empty())
      return Refused(ErrorCode::kContentRuleUndecided, change, scoped, "git.push.deny_paths", forced);
    if (scoped.rule->credential != credential) continue;
    const ErrorCode code = Missing(push, change, forced);
    force_allowed = force_allowed || push.force;
    if (out.code == ErrorCode::kNone) continue;  // allowed already; the other rules are read for what they deny
    out.code = code;
    out.by = scoped;
  }
  out.rule_part = "git.push";
  out.proves_ancestry = out.code == ErrorCode::kNone && change.kind == RefChange::Kind::kUpdate && !force_allowed;
  return out;
}

PushVerdict JudgeWith(std::span<const ScopedRule> rules, const Credential* credential,
                      const std::vector<RefChange>& changes, std::string_view session, Ancestry ancestry) {
  PushVerdict all;
  for (const RefChange& change : changes) {
    PushVerdict one = JudgeChange(rules, credential, change, session, ancestry);
    if (one.code != ErrorCode::kNone) return one;
    if (all.by.rule == nullptr || Rank(one.effect_class) > Rank(all.effect_class)) {
      all.by = one.by;
      all.effect_class = one.effect_class;
    }
    all.proves_ancestry = all.proves_ancestry || one.proves_ancestry;
  }
  all.rule_part = "git.push";
  return all;
}

}  // namespace

PushVerdict JudgePush(std::span<const ScopedRule> rules, const std::vector<RefChange>& changes,
                      std::string_view session, Ancestry ancestry) {
  PushVerdict first;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Credential* credential = rules[i].rule->credential;
    const bool seen = std::any_of(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](const ScopedRule& r) { return r.rule->credential == credential; });
    if (seen) continue;
    PushVerdict verdict = JudgeWith(rules, credential, changes, session, ancestry);
    if (verdict.code == ErrorCode::kNone) return verdict;
    // The answer that got furthest says most: a rule that matched the ref, but not this kind of change.
    if (i == 0 || (first.by.rule == nullptr && verdict.by.rule != nullptr)) first = std::move(verdict);
  }
  return first;
}

}  // namespace credbroker::policy
