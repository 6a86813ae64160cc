#include "policy/push.h"

#include <algorithm>

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using model::GitFacts;
using model::PushContent;
using model::RefChange;

bool AnyMatches(const std::vector<RefPattern>& patterns, std::string_view ref, std::string_view session) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const RefPattern& pattern) { return pattern.Matches(ref, session); });
}

// A tag that moves is forced whatever its history: nobody expects a tag to move.
bool IsForced(const RefChange& change, Evidence evidence) {
  if (change.kind != RefChange::Kind::kUpdate) return false;
  if (change.ref.starts_with("refs/tags/")) return true;
  return evidence == Evidence::kAsStated && change.ancestry != RefChange::Ancestry::kFastForward;
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

// What the rule says of what the push carries to `ref`; kNone when nothing stands against it.
PushVerdict JudgeContent(ScopedRule by, const GitFacts& git, const RefChange& change, bool forced) {
  const PushRule& push = *by.rule->push;
  const PushContent& content = git.content;
  const auto refuse = [&](ErrorCode code, std::string_view part) { return Refused(code, change, by, part, forced); };
  const std::string_view main = push.deny_paths.empty() ? "git.push" : "git.push.deny_paths";
  if (content.state == PushContent::State::kUnread) return refuse(ErrorCode::kContentRuleUndecided, main);
  if (push.max_push_bytes != 0 && content.pack_bytes > push.max_push_bytes) return refuse(ErrorCode::kPushTooLarge, "git.push.max_push_bytes");
  if (push.max_objects != 0 && content.objects > push.max_objects) return refuse(ErrorCode::kPushTooLarge, "git.push.max_objects");
  if (content.fault != ErrorCode::kNone) return refuse(content.fault, main);
  if (push.max_blob_bytes != 0 && content.largest_blob > push.max_blob_bytes) return refuse(ErrorCode::kPushTooLarge, "git.push.max_blob_bytes");
  for (const ProtectedPath& path : push.deny_paths) {
    const auto touch = std::find_if(content.touched.begin(), content.touched.end(),
                                    [&](const auto& t) { return t.ref == change.ref && t.pattern == path.text(); });
    if (touch == content.touched.end()) continue;
    PushVerdict out = refuse(ErrorCode::kPathProtected, main);
    out.path = touch->path;
    out.pattern = touch->pattern;
    return out;
  }
  for (const ProtectedPath& path : push.deny_paths) {
    if (content.paths_fault != ErrorCode::kNone) return refuse(content.paths_fault, main);
    // A pattern that nobody looked for: the policy changed in between.
    if (std::find(content.asked.begin(), content.asked.end(), path.text()) == content.asked.end()) {
      return refuse(ErrorCode::kContentRuleUndecided, main);
    }
  }
  return {};
}

void Watch(const PushRule& push, PushVerdict* out) {
  if (!push.reads_content()) return;
  out->reads_content = true;
  for (const ProtectedPath& path : push.deny_paths) {
    auto& known = out->protected_paths;
    if (std::find(known.begin(), known.end(), path.text()) == known.end()) known.push_back(path.text());
  }
}

// One change under the rules that carry `credential`.
PushVerdict JudgeChange(std::span<const ScopedRule> rules, const Credential* credential, const GitFacts& git, const RefChange& change,
                        std::string_view session, Evidence evidence) {
  const bool forced = IsForced(change, evidence);
  if (!IsPlainRef(change.ref)) return Refused(ErrorCode::kOddRef, change, {}, {}, forced);
  PushVerdict out = Refused(ErrorCode::kRefNotAllowed, change, {}, {}, forced);
  PushVerdict content;
  bool force_allowed = false;
  for (const ScopedRule& scoped : rules) {
    const PushRule& push = *scoped.rule->push;
    if (AnyMatches(push.deny_refs, change.ref, session)) {
      return Refused(ErrorCode::kRefNotAllowed, change, scoped, "git.push.deny_refs", forced);
    }
    if (!AnyMatches(push.refs, change.ref, session)) continue;
    // A deletion carries nothing.
    if (push.reads_content() && change.kind != RefChange::Kind::kDelete) {
      Watch(push, &out);
      if (evidence == Evidence::kAsStated && content.code == ErrorCode::kNone) content = JudgeContent(scoped, git, change, forced);
    }
    if (scoped.rule->credential != credential) continue;
    const ErrorCode code = Missing(push, change, forced);
    force_allowed = force_allowed || push.force;
    if (out.code == ErrorCode::kNone) continue;  // allowed already; the other rules are read for what they deny
    out.code = code;
    out.by = scoped;
  }
  if (out.code == ErrorCode::kNone && content.code != ErrorCode::kNone) return content;
  out.rule_part = "git.push";
  out.proves_ancestry = out.code == ErrorCode::kNone && change.kind == RefChange::Kind::kUpdate && !force_allowed;
  return out;
}

PushVerdict JudgeWith(std::span<const ScopedRule> rules, const Credential* credential,
                      const GitFacts& git, std::string_view session, Evidence evidence) {
  PushVerdict all;
  for (const RefChange& change : git.changes) {
    PushVerdict one = JudgeChange(rules, credential, git, change, session, evidence);
    if (one.code != ErrorCode::kNone) return one;
    if (all.by.rule == nullptr || Rank(one.effect_class) > Rank(all.effect_class)) {
      all.by = one.by;
      all.effect_class = one.effect_class;
    }
    all.proves_ancestry = all.proves_ancestry || one.proves_ancestry;
    all.reads_content = all.reads_content || one.reads_content;
    for (std::string& path : one.protected_paths) {
      if (std::find(all.protected_paths.begin(), all.protected_paths.end(), path) == all.protected_paths.end()) {
        all.protected_paths.push_back(std::move(path));
      }
    }
  }
  all.rule_part = "git.push";
  return all;
}

}  // namespace

bool AnyReadsContent(std::span<const ScopedRule> rules) {
  return std::any_of(rules.begin(), rules.end(), [](const ScopedRule& scoped) { return scoped.rule->push->reads_content(); });
}

PushVerdict JudgePush(std::span<const ScopedRule> rules, const GitFacts& git, std::string_view session,
                      Evidence evidence) {
  PushVerdict first;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Credential* credential = rules[i].rule->credential;
    const bool seen = std::any_of(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](const ScopedRule& r) { return r.rule->credential == credential; });
    if (seen) continue;
    PushVerdict verdict = JudgeWith(rules, credential, git, session, evidence);
    if (verdict.code == ErrorCode::kNone) return verdict;
    // The answer that got furthest says most: a rule that matched the ref, but not this kind of change.
    if (i == 0 || (first.by.rule == nullptr && verdict.by.rule != nullptr)) first = std::move(verdict);
  }
  return first;
}

}  // namespace credbroker::policy
