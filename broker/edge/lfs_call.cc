#include "edge/lfs_call.h"

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "model/target.h"
#include "reveal/secret_reveal.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using model::GitFacts;
using Operation = model::GitFacts::Operation;
using Part = model::LfsFacts::Part;

void NameRef(const std::string& ref, GitFacts* git) {
  model::RefChange change;
  change.ref = ref;
  change.kind = model::RefChange::Kind::kUpdate;
  // A tag is made once; what counts here is whether a rule names it.
  if (ref.starts_with("refs/tags/")) change.kind = model::RefChange::Kind::kCreate;
  change.ancestry = model::RefChange::Ancestry::kNotApplicable;
  git->changes = {std::move(change)};
}

std::string_view MethodOf(wire::LfsAction::Kind kind) {
  switch (kind) {
    case wire::LfsAction::Kind::kUpload: return "PUT";
    case wire::LfsAction::Kind::kDownload: return "GET";
    case wire::LfsAction::Kind::kVerify: return "POST";
  }
  return "GET";
}

}  // namespace

LfsCall::LfsCall(const LfsLinks& links, std::string_view session, std::string client_base, Request& request, absl::Time now)
    : links_(links), session_(session), client_base_(std::move(client_base)), request_(request), now_(now) {}

bool LfsCall::ReadsBody() const {
  const Part part = request_.facts.git->lfs.part;
  return part != Part::kObject && request_.facts.method == "POST";
}

std::string LfsCall::Binding() const {
  return base::StrCat(session_, "\n", request_.facts.authority.Text(443), "\n", model::CanonicalRepository(request_.facts.git->repository));
}

ErrorCode LfsCall::TakeBody(std::string_view body) {
  GitFacts& git = *request_.facts.git;
  if (git.lfs.part == Part::kBatch) {
    auto batch = wire::ReadLfsBatch(body);
    if (!batch.ok()) return base::CodeOf(batch.status());
    batch_ = *std::move(batch);
    body_ = wire::WriteLfsBatch(*batch_);
    if (!batch_->upload) return ErrorCode::kNone;
    git.operation = Operation::kLfsWrite;
    NameRef(batch_->ref, &git);
    for (const wire::LfsObject& object : batch_->objects) {
      git.lfs.largest = std::max(git.lfs.largest, object.size);
      git.lfs.total += object.size;  // at most 1,000 times 2^53
    }
    return ErrorCode::kNone;
  }
  const wire::LfsLockCall call = git.lfs.part == Part::kVerifyLocks ? wire::LfsLockCall::kVerify
                                 : git.lfs.part == Part::kUnlock    ? wire::LfsLockCall::kUnlock
                                                                    : wire::LfsLockCall::kCreate;
  const auto lock = wire::ReadLfsLock(body, call);
  if (!lock.ok()) return base::CodeOf(lock.status());
  body_ = wire::WriteLfsLock(*lock, call);
  git.lfs.force = lock->force;
  if (call != wire::LfsLockCall::kVerify) NameRef(lock->ref, &git);
  return ErrorCode::kNone;
}

ErrorCode LfsCall::OpenLink(std::string_view method, std::optional<uint64_t> length) {
  GitFacts& git = *request_.facts.git;
  const std::string& path = request_.facts.path;
  auto grant = links_.Open(request_.query, std::string_view(path).substr(path.rfind('/') + 1), Binding(), now_);
  if (!grant.ok()) return base::CodeOf(grant.status());
  const bool head = method == "HEAD" && grant->kind == wire::LfsAction::Kind::kDownload;
  if (!head && method != MethodOf(grant->kind)) return ErrorCode::kLfsNotAllowed;
  const bool upload = grant->kind == wire::LfsAction::Kind::kUpload;
  // What was judged by its size must have it.
  if (upload && length != grant->object.size) return ErrorCode::kBadGitRequest;
  grant_ = *std::move(grant);
  git.operation = grant_->kind == wire::LfsAction::Kind::kDownload ? Operation::kLfsRead : Operation::kLfsWrite;
  git.lfs.storage = grant_->storage;
  if (git.operation == Operation::kLfsWrite) NameRef(grant_->ref, &git);
  git.lfs.largest = git.lfs.total = upload ? grant_->object.size : 0;
  target_.facts = request_.facts;
  target_.facts.scheme = grant_->scheme;
  target_.facts.authority = grant_->storage;
  target_.facts.path = grant_->path;
  target_.query = grant_->query.Reveal(base::SecretReveal());
  request_.query_names.clear();  // it is ours, and goes nowhere
  return ErrorCode::kNone;
}

OwnFields LfsCall::fields() const { return grant_ ? OwnFields(grant_->fields) : OwnFields(); }

absl::StatusOr<std::string> LfsCall::Link(const wire::LfsObject& object, const wire::LfsAction& action, std::string_view ref, absl::Duration life,
                                          gate::Gate& gate) const {
  ASSIGN_OR_RETURN(const std::string query, links_.Make(object, action, ref, Binding(), now_ + life));
  ASSIGN_OR_RETURN(const LfsGrant grant, links_.Open(query, object.oid, Binding(), now_ - absl::Seconds(1)));
  if (!gate.MayStoreLfs(request_.facts.authority, grant.scheme, grant.storage)) {
    return base::Error(ErrorCode::kHostNotAllowed,
                       base::StrCat("the object lies on ", base::EscapeText(grant.storage.Text(443), 100), ", which the service's lfs_hosts do not name"));
  }
  return base::StrCat(client_base_, "/objects/", object.oid, query);
}

absl::StatusOr<std::string> LfsCall::EditAnswer(std::string_view answer, gate::Gate& gate) const {
  const auto link = [&](const wire::LfsObject& object, const wire::LfsAction& action) -> absl::StatusOr<wire::LfsLink> {
    const absl::Duration life = std::min(action.life, LfsLinks::kMaxLife);
    ASSIGN_OR_RETURN(std::string href, Link(object, action, batch_->ref, life, gate));
    return wire::LfsLink{std::move(href), life};
  };
  return wire::RewriteLfsReply(answer, *batch_, now_, link);
}

std::string LfsCall::EditLocation(std::string_view location, gate::Gate& gate) const {
  if (!grant_ || grant_->kind != wire::LfsAction::Kind::kDownload) return {};
  wire::LfsAction action;  // without fields: they were for the first address
  action.href = location;
  if (location.starts_with('/') && !location.starts_with("//")) {
    action.href = base::StrCat(grant_->scheme == model::Scheme::kHttps ? "https://" : "http://",
                               grant_->storage.Text(grant_->scheme == model::Scheme::kHttps ? 443 : 80), location);
  }
  const auto link = Link(grant_->object, action, {}, LfsLinks::kMaxLife, gate);
  base::WipeString(action.href);
  return link.ok() ? *link : std::string();
}

}  // namespace credbroker::edge
