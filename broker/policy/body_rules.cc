#include "policy/body_rules.h"

#include <algorithm>

#include "base/str.h"
#include "base/text.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using model::BodyFacts;
using model::BodyField;
using model::RefChange;
using Kind = model::BodyField::Kind;

BodyVerdict Refused(ErrorCode code, std::string_view effect) { return {code, effect, std::nullopt}; }

// A member that is a text; empty when it is absent or null. `*wrong` when it is anything else.
std::string_view TextOf(const BodyFacts& body, std::string_view name, bool* wrong) {
  const BodyField* field = body.Find(name);
  if (field == nullptr || field->kind == Kind::kNull) return {};
  if (field->kind != Kind::kString) *wrong = true;
  return field->text;
}

bool SaysTrue(const BodyFacts& body, std::string_view name, bool* wrong) {
  const BodyField* field = body.Find(name);
  if (field == nullptr || field->kind == Kind::kFalse || field->kind == Kind::kNull) return false;
  if (field->kind != Kind::kTrue) *wrong = true;
  return true;
}

// A branch of another repository: `other:branch`.
bool IsForeignHead(std::string_view head, std::string_view repository) {
  const std::size_t colon = head.find(':');
  return colon != std::string_view::npos &&
         !base::EqualsIgnoreCase(head.substr(0, colon), repository.substr(0, repository.find('/')));
}

bool IsForeignName(std::string_view name, std::string_view repository) {
  if (name.empty()) return false;
  const std::string_view own = name.find('/') == std::string_view::npos ? repository.substr(repository.rfind('/') + 1) : repository;
  return !base::EqualsIgnoreCase(name, own);
}

BodyVerdict Review(const Operation& operation, const BodyFacts& body) {
  bool wrong = false;
  const std::string_view event = TextOf(body, "event", &wrong);
  if (wrong) return Refused(ErrorCode::kBodyUndecided, operation.effect_class);
  // Without an event the review stays pending, to be submitted by another request.
  return {ErrorCode::kNone, event == "COMMENT" ? "write.review_comment" : operation.effect_class, std::nullopt};
}

BodyVerdict PullCreate(const Operation& operation, std::string_view repository, const BodyFacts& body) {
  bool wrong = false;
  const std::string_view effect = operation.effect_class;
  const bool foreign = IsForeignHead(TextOf(body, "head", &wrong), repository) ||
                       IsForeignHead(TextOf(body, "base", &wrong), repository) ||
                       IsForeignName(TextOf(body, "head_repo", &wrong), repository) ||
                       IsForeignName(TextOf(body, "source/repository/full_name", &wrong), repository) ||
                       IsForeignName(TextOf(body, "destination/repository/full_name", &wrong), repository) ||
                       body.Find("source/repository/uuid") != nullptr || body.Find("destination/repository/uuid") != nullptr;
  if (wrong) return Refused(ErrorCode::kBodyUndecided, effect);
  return foreign ? Refused(ErrorCode::kCrossRepository, effect) : BodyVerdict{ErrorCode::kNone, effect, std::nullopt};
}

BodyVerdict PullEdit(const Operation& operation, const BodyFacts& body) {
  const bool retarget = body.Find("base") != nullptr || body.Find("destination") != nullptr;
  return {ErrorCode::kNone, retarget ? "review.retarget" : operation.effect_class, std::nullopt};
}

RefChange ChangeOf(RefChange::Kind kind, std::string ref, RefChange::Ancestry ancestry) {
  RefChange out;
  out.kind = kind;
  out.ref = std::move(ref);
  out.ancestry = kind == RefChange::Kind::kUpdate ? ancestry : RefChange::Ancestry::kNotApplicable;
  return out;
}

BodyVerdict Contents(const Operation& operation, const BodyFacts* body) {
  constexpr std::string_view kContents = "/contents/";
  const std::string_view path = operation.rest.substr(std::min(kContents.size(), operation.rest.size()));
  BodyVerdict out{ErrorCode::kNone, IsWorkflowFile(path) ? "workflow.file" : operation.effect_class, std::nullopt};
  if (body == nullptr) return out;
  bool wrong = false;
  const std::string_view branch = TextOf(*body, "branch", &wrong);
  const std::string_view fresh = TextOf(*body, "new_branch", &wrong);
  if (wrong) return Refused(ErrorCode::kBodyUndecided, out.effect_class);
  // Without a branch it is the default one, whose name we do not know.
  if (!fresh.empty()) {
    out.change = ChangeOf(RefChange::Kind::kCreate, base::StrCat("refs/heads/", fresh), {});
  } else if (!branch.empty()) {
    out.change = ChangeOf(RefChange::Kind::kUpdate, base::StrCat("refs/heads/", branch), RefChange::Ancestry::kFastForward);
  }
  return out;
}

BodyVerdict RefOperation(const Operation& operation, const BodyFacts& body) {
  bool wrong = false;
  if (operation.body == BodyRule::kRefCreate) {
    const std::string_view ref = TextOf(body, "ref", &wrong);
    if (wrong || ref.empty()) return Refused(ErrorCode::kBodyUndecided, operation.effect_class);
    return {ErrorCode::kNone, operation.effect_class, ChangeOf(RefChange::Kind::kCreate, std::string(ref), {})};
  }
  constexpr std::string_view kRefs = "/git/refs/";
  const std::string_view name = operation.rest.substr(std::min(kRefs.size(), operation.rest.size()));
  const bool force = operation.body == BodyRule::kRefUpdate && SaysTrue(body, "force", &wrong);
  // An encoded name has a second reading.
  if (wrong || name.find('%') != std::string_view::npos) return Refused(ErrorCode::kBodyUndecided, operation.effect_class);
  std::string ref = base::StrCat("refs/", name);
  if (operation.body == BodyRule::kRefDelete) {
    return {ErrorCode::kNone, operation.effect_class, ChangeOf(RefChange::Kind::kDelete, std::move(ref), {})};
  }
  // Without `force` the host itself refuses what is no fast-forward.
  const auto ancestry = force ? RefChange::Ancestry::kUnproven : RefChange::Ancestry::kFastForward;
  return {ErrorCode::kNone, force ? operation.effect_class : "ref-write", ChangeOf(RefChange::Kind::kUpdate, std::move(ref), ancestry)};
}

// Whether a line of the text is a command that the host carries out: `/merge`, `/approve`.
bool HoldsCommand(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t at = line.find_first_not_of(" \t\r>-*");
    if (at != std::string_view::npos && line[at] == '/') return true;
  }
  return false;
}

BodyVerdict Text(const Operation& operation, const BodyFacts& body) {
  for (const char* name : {"target_project_id", "source_project_id"}) {
    if (body.Find(name) != nullptr) return Refused(ErrorCode::kCrossRepository, operation.effect_class);
  }
  for (const BodyField& field : body.members) {
    if (field.kind == Kind::kString && HoldsCommand(field.text)) return {ErrorCode::kNone, "merge", std::nullopt};
  }
  for (const char* name : {"merge_when_pipeline_succeeds", "auto_merge", "merge_after"}) {
    if (body.Find(name) != nullptr) return {ErrorCode::kNone, "merge", std::nullopt};
  }
  const bool edits = operation.rest.find("/merge_requests/") == 0 && body.Find("target_branch") != nullptr;
  if (edits) return {ErrorCode::kNone, "review.retarget", std::nullopt};
  return {ErrorCode::kNone, operation.effect_class, std::nullopt};
}

}  // namespace

bool IsWorkflowFile(std::string_view path) {
  const std::string lower = base::AsciiLower(path);
  // What is encoded may be one.
  if (lower.find('%') != std::string::npos && lower.starts_with('.')) return true;
  for (const char* folder : {".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows"}) {
    const std::string_view name(folder);
    if (lower.starts_with(name) && (lower.size() == name.size() || lower[name.size()] == '/')) return true;
  }
  return lower == ".gitlab-ci.yml" || lower == "bitbucket-pipelines.yml";
}

BodyVerdict JudgeBody(const Operation& operation, std::string_view repository, const BodyFacts* body) {
  if (operation.body == BodyRule::kContents) return Contents(operation, body);
  if (body != nullptr) {
    switch (operation.body) {
      case BodyRule::kReview: return Review(operation, *body);
      case BodyRule::kPullCreate: return PullCreate(operation, repository, *body);
      case BodyRule::kPullEdit: return PullEdit(operation, *body);
      case BodyRule::kRefCreate:
      case BodyRule::kRefUpdate:
      case BodyRule::kRefDelete: return RefOperation(operation, *body);
      case BodyRule::kText: return Text(operation, *body);
      default: break;
    }
  }
  return {ErrorCode::kNone, operation.effect_class, std::nullopt};
}

}  // namespace credbroker::policy
