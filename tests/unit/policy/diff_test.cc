#include "policy/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.h"
#include "kit/status_matchers.h"

namespace credbroker::policy {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Row {
  const char* name;
  const char* from;  // a text of the fixture
  const char* to;    // what it becomes
  const char* line;  // one line of the difference
  bool widens;
};

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(DiffTest, TellsWhatChangesAndWhetherItWidens) {
  const Row rows[] = {
      {"text only", "# The policy", "# A policy", nullptr, false},
      {"spelling only", "name: acme/web", "name: Acme/Web.git", nullptr, false},
      {"new ref", "refs: [\"refs/heads/agent/*\"]", "refs: [\"refs/heads/agent/*\", \"refs/heads/x\"]",
       "+ scope agent-star: push github acme/star refs/heads/x with acme", true},
      {"fewer refs", "\"refs/heads/release/*\", ", "",
       "- scope release: push github acme/web refs/heads/release/* with other", false},
      {"delete", "refs: [\"refs/heads/agent/{session}/**\"]",
       "delete: allow, refs: [\"refs/heads/agent/{session}/**\"]",
       "+ scope web-agent: delete github acme/web refs/heads/agent/{session}/** with acme", true},
      {"no create", ", create: allow}\n        api", "}\n        api",
       "- scope web-agent: create github acme/web refs/heads/agent/{session}/** with acme", false},
      {"deny lifted", ", deny_refs: [\"refs/heads/release/frozen\"]", "",
       "- scope frozen: never push github acme/web refs/heads/release/frozen", true},
      {"deny added", "\"refs/heads/none/x\"]", "\"refs/heads/none/x\"], create: deny", nullptr, false},
      {"class", "[read, read-host, write.issue", "[read, write.label, read-host, write.issue",
       "+ scope web-agent: api write.label github acme/web with acme", true},
      {"token longer", "token: 15m", "token: 30m", "+ scope web-agent: token limit 30m", true},
      {"token shorter", "token: 15m", "token: 5m", "+ scope web-agent: token limit 5m", false},
      {"rate lifted", ", requests_per_minute: 600", "", "+ scope web-agent: requests per minute no limit", true},
      {"requester", "requesters: [team-web]", "requesters: [team-web, team-x]", "+ scope web-agent: requester team-x",
       true},
      {"egress phase", "phases: [setup], ", "", "+ scope web-agent: egress mirror.corp.example GET in phase agent",
       true},
      {"exception on", " enabled: false,", "", "+ exception EX-9: tunnel to off.vendor.example for every scope", true},
      {"exception off", "reason: \"client pins its certificate\",",
       "reason: \"client pins its certificate\", enabled: false,",
       "- exception EX-7: tunnel to pinned.vendor.example for every scope", false},
      {"exception longer", "expires: 2026-01-31", "expires: 2028-01-31",
       "+ exception EX-8: expires 2028-01-31T00:00:00.000000Z", true},
      {"addresses", "[10.0.0.0/8]", "[10.0.0.0/8, 127.0.0.1]", "+ service git.corp: may resolve to 127.0.0.1/32", true},
      {"endpoint", "path: /v1/messages", "path: /v1/messages/**",
       "+ scope web-agent: POST llm/v1/messages/** with llm-key in phase agent", true},
      {"endpoint deny", "path: \"/open/closed\"", "path: \"/open/**\"",
       "+ scope svc-read: never GET svc/open/** in phase agent", true},
      {"plain", "plain_http: allow", "plain_http: deny", "- service plain: plain http is allowed", false},
  };
  const std::string text = ReadTestFile("fixture.yaml");
  ASSERT_OK_AND_ASSIGN(const auto before, LoadText(text));
  for (const Row& row : rows) {
    ASSERT_OK_AND_ASSIGN(const auto after, LoadText(Replaced(text, row.from, row.to)));
    const Diff diff = DiffRules(*before, *after);
    EXPECT_EQ(diff.widens, row.widens) << row.name << "\n" << testing::PrintToString(diff.lines);
    if (row.line == nullptr) {
      EXPECT_THAT(diff.lines, IsEmpty()) << row.name;
    }
    if (row.line != nullptr) {
      EXPECT_THAT(diff.lines, Contains(row.line)) << row.name;
    }
  }
}

TEST(DiffTest, FromNothingEverythingIsAdded) {
  const auto rules = Fixture();
  const Diff diff = DiffRules(*RuleSet::Empty(), *rules);
  EXPECT_TRUE(diff.widens);
  for (const std::string& line : diff.lines) EXPECT_EQ(line.substr(0, 2), "+ ");
  EXPECT_THAT(DiffRules(*rules, *rules).lines, IsEmpty());
  EXPECT_FALSE(DiffRules(*rules, *rules).widens);
}

TEST(DiffTest, AnotherCaShowsWithoutItsText) {
  const auto load = [](std::string_view pem) {
    PolicySource source;
    source.documents = {
        {"a.yaml", "apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example], upstream_ca: ca.pem}}"}};
    source.attachments = {{"ca.pem", std::string(pem)}};
    return RuleSet::Load(source, 1, "");
  };
  ASSERT_OK_AND_ASSIGN(const auto one, load("-----BEGIN CERTIFICATE-----\nAAA\n"));
  ASSERT_OK_AND_ASSIGN(const auto two, load("-----BEGIN CERTIFICATE-----\nBBB\n"));
  const Diff diff = DiffRules(*one, *two);
  EXPECT_TRUE(diff.widens);
  EXPECT_THAT(diff.lines,
              ElementsAre(HasSubstr("- service a: trusts an own CA"), HasSubstr("+ service a: trusts an own CA")));
}

}  // namespace
}  // namespace credbroker::policy
