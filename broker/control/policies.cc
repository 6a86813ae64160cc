#include "control/policies.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "control/event_log.h"
#include "crypto/hash.h"
#include "policy/diff.h"

namespace credbroker::control {
namespace {

using base::Error;
using base::ErrorCode;

constexpr int64_t kMaxVersions = 1000;
constexpr std::size_t kMaxComment = 500;

absl::StatusOr<std::shared_ptr<const policy::RuleSet>> LoadRow(const store::PolicyVersion& row) {
  ASSIGN_OR_RETURN(const policy::PolicySource source, policy::Parse(row.text));
  return policy::RuleSet::Load(source, row.version, row.digest);
}

ExceptionView BuiltIn(std::string id, std::string kind, std::string passes, std::string reason) {
  ExceptionView view{.exception = {}, .state = "built-in", .last_use = absl::InfinitePast(), .passes = std::move(passes), .built_in = true};
  view.exception.id = std::move(id);
  view.exception.kind = std::move(kind);
  view.exception.reason = std::move(reason);
  view.exception.expires = absl::InfiniteFuture();
  return view;
}

bool IsOwnSession(const Caller& caller, const std::string& id) { return caller.holder && caller.holder->session == id; }

}  // namespace

absl::Status Policies::Load() {
  ASSIGN_OR_RETURN(const std::optional<store::PolicyVersion> row, store_.policies().Current(), "reading the policy");
  if (!row) {
    hub_.SetPolicy({.version = 0, .source = policy::Serialize({})});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(auto rules, LoadRow(*row), base::StrCat("loading policy version ", row->version));
  rules_.Set(std::move(rules));
  hub_.SetPolicy({row->version, row->digest, row->text});
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const policy::RuleSet>> Policies::LoadVersion(int64_t version) const {
  if (version == 0) return rules_.Get();
  ASSIGN_OR_RETURN(const store::PolicyVersion row, store_.policies().Find(version), base::StrCat("version ", version));
  return LoadRow(row);
}

absl::StatusOr<policy::PolicySource> Policies::CurrentSource() const {
  ASSIGN_OR_RETURN(const std::optional<store::PolicyVersion> current, store_.policies().Current(), "reading the policy");
  if (!current) return policy::PolicySource{};
  return policy::Parse(current->text);
}

absl::StatusOr<Applied> Policies::Apply(const policy::PolicySource& source, DryRun dry_run, const Cause& cause) {
  if (cause.reason.size() > kMaxComment) return Error(ErrorCode::kBadArgument, "the comment is too long");
  const std::lock_guard lock(apply_mutex_);
  ASSIGN_OR_RETURN(const policy::PolicySource current, CurrentSource());
  ASSIGN_OR_RETURN(const policy::PolicySource whole, CarryAdded(current, source));
  return ApplyLocked(whole, dry_run, {"policy.apply", {}}, cause);
}

absl::StatusOr<Applied> Policies::AddException(const ExceptionWish& wish, const Cause& cause) {
  const std::lock_guard lock(apply_mutex_);
  if (rules_.Get()->version() == 0) return Error(ErrorCode::kPolicyNotFound, "apply a policy first: an exception is an exception from one");
  ASSIGN_OR_RETURN(const policy::PolicySource current, CurrentSource());
  ASSIGN_OR_RETURN(const policy::PolicySource next, WithException(current, wish));
  return ApplyLocked(next, DryRun::kNo, {"exception.add", wish.id}, cause);
}

absl::StatusOr<Applied> Policies::TurnException(std::string_view id, bool off, const Cause& cause) {
  const std::lock_guard lock(apply_mutex_);
  if (!rules_.Get()->exceptions().contains(std::string(id))) return Error(ErrorCode::kExceptionNotFound, base::EscapeText(id, 64));
  ASSIGN_OR_RETURN(const policy::PolicySource current, CurrentSource());
  return ApplyLocked(WithExceptionOff(current, id, off), DryRun::kNo, {off ? "exception.disable" : "exception.enable", id}, cause);
}

absl::StatusOr<Applied> Policies::ApplyLocked(const policy::PolicySource& source, DryRun dry_run, const Change& change, const Cause& cause) {
  const auto before = rules_.Get();
  std::string text = policy::Serialize(source);
  if (text.size() > 2 * policy::kMaxSource) return Error(ErrorCode::kTooLarge, "the policy");
  Applied applied{.version = before->version() + 1, .digest = crypto::Sha256Hex(text)};
  ASSIGN_OR_RETURN(auto next, policy::RuleSet::Load(source, applied.version, applied.digest));
  const policy::Diff diff = policy::DiffRules(*before, *next);
  applied.changes = diff.lines;
  applied.warnings = next->warnings();
  ASSIGN_OR_RETURN(const std::vector<std::string> missing, MissingSecrets(*next));
  for (const std::string& name : missing) {
    applied.warnings.push_back(
        base::StrCat("secret ", name, " is not set: put it with `credbroker secret put ", name, "`"));
  }
  applied.unchanged = before->version() > 0 && before->digest() == applied.digest;
  if (dry_run == DryRun::kYes || applied.unchanged) {
    applied.version = before->version();
    return applied;
  }
  RETURN_IF_ERROR(Record(applied, before->digest(), diff.widens, change, cause), "applying a policy");
  ASSIGN_OR_RETURN(const int64_t version,
                   store_.policies().Append({.digest = applied.digest,
                                             .text = text,
                                             .author = cause.actor,
                                             .applied_at = clock_.Now(),
                                             .comment = cause.reason}),
                   "storing a policy");
  if (version != applied.version) {
    applied.version = version;
    ASSIGN_OR_RETURN(next, policy::RuleSet::Load(source, version, applied.digest));
  }
  rules_.Set(std::move(next));
  const uint64_t serial = hub_.SetPolicy({version, applied.digest, std::move(text)});
  hub_.WaitConfirmed(serial, kConfirmWait);
  return applied;
}

absl::Status Policies::Record(const Applied& next, std::string_view before, bool widens, const Change& change, const Cause& cause) {
  model::Record record{.kind = model::RecordKind::kAdmin};
  record.action = change.action;
  record.exception = change.exception;
  record.subject = base::StrCat("version ", next.version);
  record.actor = cause.actor;
  record.before = before;
  record.after = next.digest;
  record.detail = widens ? "widens" : "does not widen";
  record.policy_version = next.version;
  return recorder_.Write(std::move(record));
}

absl::StatusOr<PolicyText> Policies::Get(int64_t version) const {
  PolicyText text;
  if (version == 0) {
    ASSIGN_OR_RETURN(const std::optional<store::PolicyVersion> current, store_.policies().Current());
    if (!current) return Error(ErrorCode::kPolicyNotFound, "no policy was applied yet");
    text.version = *current;
  } else {
    ASSIGN_OR_RETURN(text.version, store_.policies().Find(version));
  }
  ASSIGN_OR_RETURN(text.source, policy::Parse(text.version.text), "reading a policy");
  return text;
}

absl::StatusOr<std::vector<store::PolicyVersion>> Policies::History() const {
  return store_.policies().List(kMaxVersions);
}

absl::StatusOr<std::vector<std::string>> Policies::Diff(int64_t from, int64_t to) const {
  const int64_t current = rules_.Get()->version();
  if (to == 0) to = current;
  if (from == 0) from = to - 1;
  if (to == 0) return Error(ErrorCode::kPolicyNotFound, "no policy was applied yet");
  std::shared_ptr<const policy::RuleSet> before = policy::RuleSet::Empty();
  if (from > 0) {
    ASSIGN_OR_RETURN(before, LoadVersion(from));
  }
  ASSIGN_OR_RETURN(const auto after, LoadVersion(to));
  return policy::DiffRules(*before, *after).lines;
}

absl::StatusOr<model::Grant> Policies::GrantOf(const Caller& caller, const AskedAbout& who) const {
  if (const auto* token = std::get_if<AskToken>(&who)) {
    ASSIGN_OR_RETURN(const token::Claims claims, tokens_.VerifyHolder(token->text), "explaining");
    return token::ToGrant(claims);  // whoever has the text may ask about it
  }
  if (const auto* session = std::get_if<AskSession>(&who)) {
    if (!caller.privileged() && !IsOwnSession(caller, session->id))
      return Error(ErrorCode::kCallerNotAllowed, "explain");
    ASSIGN_OR_RETURN(const store::Session row, store_.sessions().Find(session->id), "explaining");
    if (!caller.roles.Meets(Roles::Of(Role::kAdmin, Role::kReviewer, Role::kOperator)) && caller.privileged()) {
      RETURN_IF_ERROR(caller.MayActFor(row.requester));
    }
    return model::Grant{.session = row.id,
                        .requester = row.requester,
                        .phase = row.phase,
                        .label = row.label,
                        .scopes = row.scopes,
                        .expires_at = row.expires_at};
  }
  const std::string& scope = std::get<AskScope>(who).name;
  if (!caller.privileged()) return Error(ErrorCode::kCallerNotAllowed, "explain");
  if (rules_.Get()->FindScope(scope) == nullptr) return Error(ErrorCode::kScopeNotFound, scope);
  return policy::SampleGrant(scope, model::Phase::kAgent, model::Label::kAgent);
}

absl::StatusOr<std::vector<policy::Explanation>> Policies::Explain(
    const Caller& caller, const AskedAbout& who, const std::vector<policy::Question>& questions) const {
  if (questions.size() > kMaxQuestions) return Error(ErrorCode::kTooLarge, "questions");
  ASSIGN_OR_RETURN(const model::Grant grant, GrantOf(caller, who));
  const auto rules = rules_.Get();
  const absl::Time now = clock_.Now();
  std::vector<policy::Explanation> answers;
  answers.reserve(questions.size());
  for (const policy::Question& question : questions) answers.push_back(policy::Explain(question, grant, rules, now));
  return answers;
}

absl::StatusOr<std::vector<ExceptionView>> Policies::Exceptions() const {
  ASSIGN_OR_RETURN(const std::vector<store::ExceptionUse> uses, store_.exception_uses().List(), "listing exceptions");
  std::map<std::string, store::ExceptionUse> by_id;
  for (const store::ExceptionUse& use : uses) by_id[use.exception] = use;
  const auto rules = rules_.Get();
  const absl::Time now = clock_.Now();
  std::vector<ExceptionView> views;
  for (const auto& [id, exception] : rules->exceptions()) {
    ExceptionView view{.exception = exception, .last_use = absl::InfinitePast()};
    view.state = !exception.enabled ? "off" : exception.ActiveAt(now) ? "active" : "expired";
    if (const auto it = by_id.find(id); it != by_id.end()) {
      view.uses = it->second.count;
      view.last_use = it->second.last_used_at;
    }
    view.passes = "every byte of its connections, unread";
    views.push_back(std::move(view));
  }
  views.push_back(BuiltIn("builtin.websocket", "websocket",
                          "messages after a WebSocket's handshake: no rule reads them; the credential is still covered in what the server sends",
                          "a rule that allows the GET which opens it allows the messages that follow"));
  return views;
}

absl::StatusOr<std::vector<std::string>> Policies::MissingSecrets(const policy::RuleSet& rules) const {
  ASSIGN_OR_RETURN(const std::vector<vault::SecretInfo> known, vault_.List(), "listing secrets");
  std::vector<std::string> missing;
  for (const std::string& name : rules.Secrets()) {
    const auto is_it = [&](const vault::SecretInfo& info) { return info.name == name; };
    if (std::none_of(known.begin(), known.end(), is_it)) missing.push_back(name);
  }
  return missing;
}

}  // namespace credbroker::control
