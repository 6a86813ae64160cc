#include "fixture.h"

#include <filesystem>

#include "audit/query.h"
#include "reveal/secret_reveal.h"

namespace credbroker::control {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "control-XXXXXX").string();
  path_ = mkdtemp(name.data());
}
TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

policy::PolicySource PolicyOf(const std::string& text) {
  return {.documents = {{"policy.yaml", text}}, .attachments = {}};
}

policy::PolicySource FixturePolicy() {
  return PolicyOf(R"(apiVersion: credbroker/v1
services:
  git: {preset: gitea, hosts: [git.test]}
  llm: {hosts: [api.llm.example]}
credentials:
  bot: {service: git, provider: static, secret: secret:bot-secret, place: {basic: {username: bot}}}
  llm-key: {service: llm, provider: static, secret: secret:llm, place: {header: {name: x-api-key}}, placeholder_env: [LLM_KEY]}
scopes:
  web:
    description: the web shop
    requesters: [team-web]
    limits: {session: 2h, token: 15m, idle: 20m}
    repositories:
      - service: git
        name: acme/web
        credential: bot
        git: {fetch: allow, push: {refs: ["refs/heads/agent/{session}/**"], create: allow}}
    endpoints:
      - {service: llm, credential: llm-key, allow: [{methods: [POST], path: /v1/messages}]}
  docs:
    description: the manual
    requesters: [team-docs]
    repositories:
      - {service: git, name: acme/docs, git: {fetch: allow}}
exceptions:
  - {id: EX-7, kind: tunnel, hosts: [pinned.vendor.example], reason: "client pins its certificate",
     owner: jo@corp.example, approved_by: sec@corp.example, expires: 2037-01-31}
)");
}

void CoreTest::SetUp() {
  ASSERT_OK_AND_ASSIGN(core_, Core::Open({.data_dir = folder_.path() + "/data"}, clock_));
  ASSERT_THAT(core_->policies().Apply(FixturePolicy(), DryRun::kNo, {.actor = "uid:0"}), testing_kit::IsOk());
}

void CoreTest::Reopen() {
  core_.reset();
  ASSERT_OK_AND_ASSIGN(core_, Core::Open({.data_dir = folder_.path() + "/data"}, clock_));
}

std::string CoreTest::TextOf(const IssuedToken& token) { return std::string(token.text.Reveal(base::SecretReveal{})); }

Caller CoreTest::Holder(const IssuedToken& token) const {
  Caller caller{.roles = Roles::Of(Role::kAnyone), .actor = "token:" + token.id};
  absl::StatusOr<token::Claims> claims = core_->tokens().VerifyHolder(TextOf(token));
  caller.holder_status = claims.status();
  if (claims.ok()) {
    caller.roles.Add(Role::kHolder);
    caller.holder = *claims;
  }
  return caller;
}

absl::StatusOr<SessionAndToken> CoreTest::Open(absl::Duration life, model::Phase phase) {
  return core_->sessions().Open(
      Admin(), {.requester = "team-web", .scopes = {"web"}, .phase = phase, .ticket = "T-1", .life = life});
}

std::vector<std::string> CoreTest::Records(const std::string& kind) {
  std::vector<std::string> lines;
  const auto entries =
      audit::Query({core_->ledger().folder()}, audit::Filter{.kind = kind, .limit = audit::kMaxQueryRecords});
  EXPECT_THAT(entries, testing_kit::IsOk());
  if (!entries.ok()) return lines;
  for (const audit::Entry& entry : *entries) lines.push_back(entry.line);
  return lines;
}

}  // namespace credbroker::control
