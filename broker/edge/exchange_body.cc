#include "base/macros.h"
#include "base/str.h"
#include "edge/exchange.h"
#include "edge/node_ids.h"
#include "edge/push_check.h"
#include "forge/api_body.h"
#include "policy/graphql_rules.h"
#include "wire/http_writer.h"

// The half of an exchange that reads a body before the decision: git's lists and packs, LFS, calls of a forge's API.
namespace credbroker::edge {

using base::ErrorCode;
using model::GitFacts;
using wire::Framing;

bool Exchange::IsPush() const { return request_.facts.git && request_.facts.git->operation == GitFacts::Operation::kPush; }

// Takes the head out of the stream's buffer, since reading the body moves it.
void Exchange::KeepHead() {
  if (head_bytes_ == 0) return;
  kept_head_ = client_.buffered().substr(0, head_bytes_);
  wire::ParseRequestHead(kept_head_, {}, &head_);
  client_.Consume(head_bytes_);
  head_bytes_ = 0;
}

base::Task<ErrorCode> Exchange::ReadGit() {
  GitFacts& git = *request_.facts.git;
  const bool push = IsPush();
  if (git.lfs.part != model::LfsFacts::Part::kNone) co_return co_await ReadLfs();
  if (!push && git.operation != GitFacts::Operation::kFetch) co_return ErrorCode::kNone;
  const std::string_view type = head_.FindHeader("content-type").value_or("");
  if (type != (push ? "application/x-git-receive-pack-request" : "application/x-git-upload-pack-request")) co_return ErrorCode::kBadGitRequest;
  KeepHead();
  if (head_.expect_continue) client_.Write(wire::kContinueResponse);  // the body is read here, whatever is decided
  git_ = std::make_unique<GitBody>(client_, body_, head_.FindHeader("content-encoding").value_or(""), worker_.options);
  ErrorCode code = push ? co_await git_->ReadPush(&git.changes) : co_await git_->ReadFetch(head_.FindHeader("git-protocol").value_or(""));
  if (code != ErrorCode::kNone) co_return code;
  if (push) {
    policy::PushNeeds needs = worker_.gate.NeedsOfPush(*caller_, request_.facts);
    if (needs.any()) co_return co_await CheckPush(std::move(needs));
  }
  if (git_->coded()) code = co_await git_->ReadAll();
  co_return code;
}

// The LFS server's address as the client has it.
std::string Exchange::LfsBase() const {
  const bool https = door_.kind == Door::Kind::kTunnel ? door_.scheme == model::Scheme::kHttps : door_.kind == Door::Kind::kGateway && client_.tls();
  constexpr std::string_view kLfs = "/info/lfs";
  const std::string_view path = head_.resource.substr(0, head_.resource.find(kLfs) + kLfs.size());
  return base::StrCat(https ? "https://" : "http://", head_.host.empty() ? request_.facts.authority.Text(443) : std::string(head_.host), path);
}

base::Task<ErrorCode> Exchange::ReadLfs() {
  KeepHead();
  lfs_ = std::make_unique<LfsCall>(worker_.lfs_links, caller_->grant.session, LfsBase(), request_, worker_.loop.clock().Now());
  if (request_.facts.git->lfs.part == model::LfsFacts::Part::kObject) {
    const bool chunked = head_.framing == Framing::kChunked;
    co_return lfs_->OpenLink(head_.method, chunked ? std::nullopt : std::optional<uint64_t>(head_.content_length));
  }
  if (!lfs_->ReadsBody()) co_return ErrorCode::kNone;
  const std::string_view type = head_.FindHeader("content-type").value_or("");
  if (!type.starts_with("application/vnd.git-lfs+json") && !type.starts_with("application/json")) co_return ErrorCode::kBadGitRequest;
  if (head_.expect_continue) client_.Write(wire::kContinueResponse);
  git_ = std::make_unique<GitBody>(client_, body_, head_.FindHeader("content-encoding").value_or(""), worker_.options);
  const ErrorCode code = co_await git_->ReadAll();
  co_return code != ErrorCode::kNone ? code : lfs_->TakeBody(git_->ahead());
}

// Where the request goes: an LFS link stands for another address.
const Request& Exchange::Target() const { return lfs_ != nullptr && lfs_->target() != nullptr ? *lfs_->target() : request_; }

base::Task<ErrorCode> Exchange::CheckPush(policy::PushNeeds needs) {
  auto spool = PushSpool::Create(worker_.options.spool_folder, worker_.options.max_spool);
  if (!spool.ok()) co_return base::CodeOf(spool.status());
  spool_ = *std::move(spool);
  const gate::RequestInfo info = Info();
  PushCheck check(worker_, caller_, info, request_.facts, git_->push(), std::move(needs));
  const ErrorCode code = co_await git_->Spool(*spool_, check);
  if (code != ErrorCode::kNone) co_return code;
  co_await check.Finish(*spool_, &*request_.facts.git);
  co_return ErrorCode::kNone;
}

// The effect depends on the body: it is read whole, strictly, and what was read is what goes on.
base::Task<ErrorCode> Exchange::ReadApi(policy::BodyRule rule) {
  // A parameter in the query could say another thing than the body.
  if (!request_.query.empty()) co_return ErrorCode::kBodyUndecided;
  const bool bodyless = head_.framing == Framing::kNone || (head_.framing == Framing::kLength && head_.content_length == 0);
  if (!bodyless && !forge::IsJsonType(head_.FindHeader("content-type").value_or(""))) co_return ErrorCode::kBodyUndecided;
  KeepHead();
  if (head_.expect_continue) client_.Write(wire::kContinueResponse);
  api_ = std::make_unique<ApiBody>(client_, body_, worker_.options);
  const ErrorCode code = co_await api_->Read(head_.FindHeader("content-encoding").value_or(""));
  if (code != ErrorCode::kNone) co_return code;
  auto read = forge::ReadBody(rule, api_->text());
  if (!read.ok()) co_return base::CodeOf(read.status());
  request_.facts.body = *std::move(read);
  if (rule != policy::BodyRule::kGraphql) co_return ErrorCode::kNone;
  auto resolved = std::make_shared<model::BodyFacts>(*request_.facts.body);
  worker_.nodes.Resolve(caller_->grant.session, request_.facts.authority.Text(443), &resolved->operation);
  request_.facts.body = std::move(resolved);
  co_return ErrorCode::kNone;
}

// Ids that this answer gives for things of the one repository that was asked about may be used by the session's mutations.
void Exchange::LearnNodes(const gate::Passage& passage, std::string_view answer) {
  if (request_.facts.body == nullptr || !request_.facts.body->graphql || answer.empty()) return;
  std::string repository;
  const std::vector<std::string> paths = policy::NodeIdPaths(request_.facts.body->operation, &repository);
  if (!passage.allow()->managed) return;
  worker_.nodes.Learn(caller_->grant.session, request_.facts.authority.Text(443), repository, paths, answer);
}

BodyPlan Exchange::PlanBody() const {
  BodyPlan plan{head_.framing, head_.content_length, head_.expect_continue && git_ == nullptr, false};
  if (api_ != nullptr) return {api_->text().empty() ? head_.framing : Framing::kLength, api_->text().size(), false, true};
  const bool rewritten = lfs_ != nullptr && git_ != nullptr;
  if (git_ == nullptr || (!git_->coded() && spool_ == nullptr && !rewritten)) return plan;
  plan.framing = Framing::kLength;
  plan.length = rewritten ? lfs_->body().size() : git_->ahead().size() + (spool_ == nullptr ? 0 : spool_->size());
  plan.drop_coding = true;
  return plan;
}

}  // namespace credbroker::edge
