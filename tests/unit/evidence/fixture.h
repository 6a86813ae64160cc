#pragma once

#include "evidence/answers.h"
#include "kit/status_matchers.h"
#include "policy/source.h"

namespace credbroker::evidence {

inline constexpr std::string_view kPolicy = R"(
apiVersion: credbroker/v1
services:
  git.corp: {preset: gitea, hosts: [git.corp.example]}
  llm: {hosts: [api.llm.example], addresses: [10.1.0.0/16]}
credentials:
  bot: {service: git.corp, provider: static, secret: secret:bot, place: {basic: {username: bot}}}
scopes:
  web:
    requesters: [team-web]
    repositories:
      - service: git.corp
        name: acme/web
        credential: bot
        git: {fetch: allow, push: {refs: ["refs/heads/agent/{session}/**"], create: allow}}
        api: [read, write.issue]
    endpoints:
      - {service: llm, allow: [{methods: [POST], path: /v1/messages}]}
    egress:
      - {hosts: [mirror.example, "*.cdn.example:8443"], phases: [setup]}
)";

inline constexpr std::string_view kTunnel = R"(exceptions:
  - {id: EX-7, kind: tunnel, hosts: [pinned.example], reason: pins its certificate, owner: jo, approved_by: sec, expires: 2031-01-31}
)";

inline std::shared_ptr<const policy::RuleSet> Rules(const std::string& text) {
  auto rules = policy::RuleSet::Load({{{"policy.yaml", text}}, {}}, 7, "digest of " + std::to_string(text.size()));
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *rules;
}

inline Situation Fixture() {
  Situation out;
  out.version = "0.1.0";
  out.now = absl::FromUnixSeconds(1'800'000'000);  // 2027-01-15
  out.installation = "i-test";
  out.rules = Rules(std::string(kPolicy));
  out.policy_author = "uid:0";
  out.policy_at = out.now - absl::Hours(24);
  out.listeners = {"proxy http://127.0.0.1:7480"};
  out.edges = {"edge"};
  out.durability = "flush";
  out.master_key = "file keys/master.key";
  out.ca_fingerprint = "ab12";
  out.ca_expires = out.now + absl::Hours(24 * 365);
  return out;
}

inline std::string ValueOf(const Situation& situation, std::string_view id) {
  const auto pack = MakePack(situation);
  EXPECT_TRUE(pack.ok()) << pack.status();
  for (const Answer& answer : pack->answers) {
    if (answer.id == id) return answer.value;
  }
  return "no such answer";
}

}  // namespace credbroker::evidence
