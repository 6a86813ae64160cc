#include "client/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policy/source.h"

namespace credbroker::client {
namespace {

constexpr char kPolicy[] = R"(
apiVersion: credbroker/v1
services:
  git.corp: {preset: gitea, hosts: ["git.corp.example:8443"]}
  llm: {hosts: [api.llm.example]}
scopes:
  web:
    requesters: [team-web]
    repositories:
      - service: git.corp
        name: acme/web
        git: {fetch: allow, push: {refs: ["refs/heads/agent/{session}/**"], create: allow}}
    endpoints:
      - {service: llm, allow: [{methods: [GET], path: /v1/models}]}
)";

std::shared_ptr<const policy::RuleSet> Rules(const std::string& text = kPolicy) {
  auto rules = policy::RuleSet::Load({{{"policy.yaml", text}}, {}}, 1, "");
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *rules;
}

Json Record(std::string id, std::string kind, std::string method, std::string host, std::string path) {
  return {{"id", id}, {"kind", kind}, {"time", "2027-01-15T08:00:00Z"}, {"session", "s-1"}, {"phase", "agent"}, {"label", "agent"}, {"method", method},
          {"scheme", "https"}, {"host", host}, {"path", path}, {"rule", "web/x"}};
}

Json Push(std::string id, std::string kind, std::vector<std::string> refs) {
  Json record = Record(std::move(id), std::move(kind), "POST", "git.corp.example", "/acme/web.git/git-receive-pack");
  record["port"] = 8443;
  record["repository"] = "acme/web";
  record["refs"] = Json::array();
  for (const std::string& ref : refs) record["refs"].push_back({{"ref", ref}, {"change", "create"}});
  return record;
}

const std::map<std::string, std::vector<std::string>> kScopes = {{"s-1", {"web"}}};

TEST(SimulationTest, TellsWhatWouldChange) {
  std::vector<Json> records = {Record("edge-1", "intent", "GET", "api.llm.example", "/v1/models"), Record("edge-2", "intent", "POST", "api.llm.example", "/v1/messages"),
                               Push("edge-3", "intent", {"refs/heads/agent/s-1/x"}), Push("edge-4", "intent", {"refs/heads/agent/s-1/x", "refs/heads/main"}),
                               Push("edge-5", "deny", {"refs/heads/main"}), Record("edge-6", "deny", "GET", "api.llm.example", "/v1/models"), Record("edge-7", "outcome", "GET", "api.llm.example", "/v1/models")};
  const Simulation found = Simulate(records, kScopes, Rules());
  EXPECT_EQ(found.same, 3);
  ASSERT_EQ(found.changes.size(), 3u);
  EXPECT_EQ(found.changes[0].id, "edge-2");
  EXPECT_EQ(found.changes[0].after, "deny no_rule");
  EXPECT_EQ(found.changes[1].id, "edge-4");
  EXPECT_EQ(found.changes[1].after, "deny ref_not_allowed") << "one refused ref refuses all";
  EXPECT_EQ(found.changes[2].id, "edge-6");
  EXPECT_THAT(found.changes[2].after, ::testing::StartsWith("allow web/"));
}

TEST(SimulationTest, WhatCannotBeReplayedIsCounted) {
  Json framing = Record("edge-1", "deny", "GET", "api.llm.example", "/v1/models");
  framing["rule"] = "edge/ambiguous_framing";
  Json narrowed = Record("edge-2", "deny", "GET", "api.llm.example", "/v1/models");
  narrowed["code"] = "narrowed";
  Json stranger = Record("edge-3", "deny", "GET", "api.llm.example", "/v1/models");
  stranger["session"] = "s-gone";
  const Simulation found = Simulate({framing, narrowed, stranger, Json{{"kind", "deny"}}}, kScopes, Rules());
  EXPECT_EQ(found.same, 0);
  EXPECT_TRUE(found.changes.empty());
  EXPECT_EQ(found.skipped.size(), 3u);
  EXPECT_EQ(found.skipped.at("its session is not known"), 2);
}

TEST(SimulationTest, TheRecordsTimeCounts) {
  const std::string with = std::string(kPolicy) + "exceptions:\n  - {id: EX-7, kind: tunnel, hosts: [pinned.example], reason: pins, owner: jo, approved_by: sec, expires: 2027-01-15T12:00:00Z}\n";
  Json before = Record("edge-1", "intent", "CONNECT", "pinned.example", "");
  before["port"] = 443;
  Json after = before;
  after["time"] = "2027-01-15T13:00:00Z";
  after["id"] = "edge-2";
  const Simulation found = Simulate({before, after}, kScopes, Rules(with));
  EXPECT_EQ(found.same, 1);
  ASSERT_EQ(found.changes.size(), 1u);
  EXPECT_EQ(found.changes[0].id, "edge-2");
}

}  // namespace
}  // namespace credbroker::client
