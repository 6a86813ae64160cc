#include "bench/scene.h"

#include <stdlib.h>

#include <cstdio>
#include <filesystem>

#include "base/clock.h"
#include "base/str.h"
#include "crypto/sign.h"
#include "policy/source.h"

namespace credbroker::bench {
namespace {

constexpr std::string_view kPolicy = R"(
apiVersion: credbroker/v1
services:
  git.corp: {preset: gitea, hosts: [git.corp.example]}
  llm: {hosts: [api.llm.example]}
credentials:
  corp-bot: {service: git.corp, provider: static, secret: secret:corp-bot, place: {basic: {username: bot}}}
  llm-key: {service: llm, provider: static, secret: secret:llm, place: {header: {name: x-api-key}}}
scopes:
  web-agent:
    requesters: [team-web]
    endpoints:
      - {service: llm, credential: llm-key, allow: [{methods: [POST], path: /v1/messages}]}
    repositories:
      - service: git.corp
        name: acme/web
        credential: corp-bot
        git: {fetch: allow, push: {refs: ["refs/heads/agent/{session}/**"], create: allow, force: allow}}
        api: [read]
)";

model::Facts GitFacts(model::GitFacts::Operation operation, const std::string& repository, std::string_view service) {
  model::Facts facts;
  facts.authority = {"git.corp.example", 443, false};
  facts.method = "POST";
  facts.path = base::StrCat("/", repository, ".git/", service);
  facts.git = model::GitFacts{operation, repository, {}};
  return facts;
}

}  // namespace

void Fail(const absl::Status& status) {
  std::fprintf(stderr, "credbroker-bench: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}

void Must(const absl::Status& status) {
  if (!status.ok()) Fail(status);
}

std::string PolicyText(int other_repositories) {
  std::string text(kPolicy);
  for (int i = 0; i < other_repositories; ++i) {
    base::StrAppend(&text, "      - {service: git.corp, name: acme/other-", i, ", credential: corp-bot, git: {fetch: allow}, api: [read]}\n");
  }
  return text;
}

std::shared_ptr<const policy::RuleSet> Rules(int other_repositories) {
  return Must(policy::RuleSet::Load({{{"policy.yaml", PolicyText(other_repositories)}}, {}}, 7, "digest"));
}

token::Claims SampleClaims() {
  token::Claims claims;
  claims.id = "t-5f2a9c01d7e84b36";
  claims.session = "s-1f0e9d8c7b6a5948";
  claims.audience = "installation-1";
  claims.requester = "team-web";
  claims.issued_at = claims.not_before = absl::FromUnixSeconds(absl::ToUnixSeconds(base::SystemClock().Now()));
  claims.expires_at = claims.issued_at + absl::Hours(1);
  claims.scopes = {"web-agent"};
  claims.policy_digest = "0f343b0931126a20f133d67c2b018a3b";
  return claims;
}

model::Grant SampleGrant() { return token::ToGrant(SampleClaims()); }

model::Facts EndpointFacts() {
  model::Facts facts;
  facts.authority = {"api.llm.example", 443, false};
  facts.method = "POST";
  facts.path = "/v1/messages";
  return facts;
}

model::Facts FetchFacts() { return GitFacts(model::GitFacts::Operation::kFetch, "acme/web", "git-upload-pack"); }

model::Facts PushFacts(int refs) {
  model::Facts facts = GitFacts(model::GitFacts::Operation::kPush, "acme/web", "git-receive-pack");
  for (int i = 0; i < refs; ++i) {
    model::RefChange change;
    change.kind = model::RefChange::Kind::kCreate;
    change.ref = base::StrCat("refs/heads/agent/s-1f0e9d8c7b6a5948/topic-", i);
    change.old_id = std::string(40, '0');
    change.new_id = std::string(40, 'a');
    change.ancestry = model::RefChange::Ancestry::kNotApplicable;
    facts.git->changes.push_back(std::move(change));
  }
  return facts;
}

model::Facts DeniedFacts() { return GitFacts(model::GitFacts::Operation::kFetch, "acme/secret", "git-upload-pack"); }

model::Record SampleIntent() {
  model::Record record;
  record.kind = model::RecordKind::kIntent;
  record.time = base::SystemClock().Now();
  record.request_id = "r-8b1c2d3e4f506172-1";
  record.session = "s-1f0e9d8c7b6a5948";
  record.token_id = "t-5f2a9c01d7e84b36";
  record.requester = "team-web";
  record.label = "agent";
  record.phase = "agent";
  record.peer = "127.0.0.1:40312";
  record.channel = "connect";
  record.scopes = {"web-agent"};
  record.method = "POST";
  record.scheme = "https";
  record.host = "git.corp.example";
  record.port = 443;
  record.path = "/acme/web.git/git-upload-pack";
  record.service = "git.corp";
  record.repository = "acme/web";
  record.effect_class = "fetch";
  record.rule = "web-agent/repositories/acme/web/git.fetch";
  record.credential = "corp-bot";
  record.policy_version = 7;
  return record;
}

model::Record SampleOutcome() {
  model::Record record;
  record.kind = model::RecordKind::kOutcome;
  record.time = SampleIntent().time;
  record.request_id = SampleIntent().request_id;
  record.intent = 1234;
  record.outcome = "done";
  record.status = 200;
  record.bytes_up = 412;
  record.bytes_down = 18'220;
  record.duration_us = 34'567;
  return record;
}

Folder::Folder() : path_((std::filesystem::temp_directory_path() / "credbroker-bench-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) Fail(absl::InternalError("no temporary folder"));
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

OwnLedger::OwnLedger()
    : ledger(Must(audit::Ledger::Open(folder.path(), "credbroker/bench", crypto::SigningKey::Generate(), {}, base::SystemClock()))) {}

}  // namespace credbroker::bench
