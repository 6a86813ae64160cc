#include "policy/lfs.h"

#include <algorithm>
#include <vector>

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using model::GitFacts;

PushVerdict Refused(ErrorCode code, ScopedRule by, std::string_view effect) {
  PushVerdict out;
  out.code = code;
  out.by = by;
  out.rule_part = effect == "read" ? "git.fetch" : "git.push";
  out.effect_class = effect;
  return out;
}

PushVerdict JudgeWrite(std::span<const ScopedRule> rules, const GitFacts& git, std::string_view session) {
  std::vector<ScopedRule> pushing;
  std::copy_if(rules.begin(), rules.end(), std::back_inserter(pushing), [](const ScopedRule& s) { return s.rule->push.has_value(); });
  if (pushing.empty() || git.lfs.force) return Refused(ErrorCode::kLfsNotAllowed, rules.front(), "push");
  if (git.operation == GitFacts::Operation::kLfsCheck) return Refused(ErrorCode::kNone, pushing.front(), "push");
  // Without a ref nothing says which rule it is for.
  if (git.changes.size() != 1 || git.changes.front().ref.empty()) return Refused(ErrorCode::kRefNotAllowed, {}, "push");
  PushVerdict out = JudgePush(pushing, git, session, Evidence::kAssumeGood);
  for (const ScopedRule& scoped : pushing) {
    const PushRule& push = *scoped.rule->push;
    const bool holds = std::any_of(push.refs.begin(), push.refs.end(), [&](const auto& ref) { return ref.Matches(git.changes.front().ref, session); });
    const bool large = (push.max_blob_bytes != 0 && git.lfs.largest > push.max_blob_bytes) || (push.max_push_bytes != 0 && git.lfs.total > push.max_push_bytes);
    if (out.code == ErrorCode::kNone && holds && large) return Refused(ErrorCode::kPushTooLarge, scoped, "push");
  }
  out.effect_class = "push";
  out.reads_content = false;
  return out;
}

}  // namespace

LfsStorage StorageOf(const Service& service, const model::Authority& storage) {
  const auto matches = [&](const model::HostPattern& pattern) { return pattern.Matches(storage); };
  if (std::any_of(service.hosts.begin(), service.hosts.end(), [&](const ServiceHost& host) { return matches(host.pattern); })) return LfsStorage::kOwn;
  return std::any_of(service.lfs_hosts.begin(), service.lfs_hosts.end(), matches) ? LfsStorage::kListed : LfsStorage::kRefused;
}

PushVerdict JudgeLfs(std::span<const ScopedRule> rules, const Service& service, const GitFacts& git, std::string_view session) {
  const bool read = git.operation == GitFacts::Operation::kLfsRead;
  if (git.lfs.storage && StorageOf(service, *git.lfs.storage) == LfsStorage::kRefused) {
    return Refused(ErrorCode::kHostNotAllowed, {}, read ? "read" : "push");
  }
  if (!read) return JudgeWrite(rules, git, session);
  for (const ScopedRule& scoped : rules) {
    if (scoped.rule->fetch) return Refused(ErrorCode::kNone, scoped, "read");
  }
  return Refused(ErrorCode::kLfsNotAllowed, rules.front(), "read");
}

}  // namespace credbroker::policy
