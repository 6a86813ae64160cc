#include "policy/outline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/str.h"
#include "fixture.h"
#include "policy/decide.h"

namespace credbroker::policy {
namespace {

using testing::ElementsAre;

std::string Sample(std::string pattern) {
  for (std::size_t at = pattern.find('*'); at != std::string::npos; at = pattern.find('*')) {
    const bool many = at + 1 < pattern.size() && pattern[at + 1] == '*';
    pattern.replace(at, many ? 2 : 1, "zz");
  }
  return pattern;
}

// Every row of an outline is asked of Decide in an example: what it shows is what is enforced.
void ExpectEnforced(const model::Grant& grant) {
  const auto rules = Fixture();
  const Outline outline = OutlineOf(grant, *rules, TestNow());
  // A push that touches nothing protected, where a rule asks.
  const auto ask = [&](model::Facts facts) {
    const PushNeeds needs = NeedsOfPush(facts, grant, rules);
    if (needs.content) {
      facts.git->content.state = model::PushContent::State::kRead;
      facts.git->content.asked = needs.protected_paths;
    }
    return CodeOf(Decide(facts, grant, rules, TestNow()));
  };
  for (const auto& row : outline.repositories) {
    const std::string repo = base::StrCat("https://", row.hosts.front(), "/", Sample(row.name));
    EXPECT_EQ(ask(Request("POST", repo + "/git-upload-pack")) == "allow", row.fetch) << repo;
    for (const std::string& pattern : row.push_refs) {
      if (!row.only_refs.empty()) continue;
      const std::string ref = Sample(pattern);
      EXPECT_EQ(ask(Push(repo, "update:" + ref)),
                ref.starts_with("refs/tags/") && !row.force ? "force_not_allowed" : "allow")
          << ref;
      EXPECT_EQ(ask(Push(repo, "create:" + ref)), row.create ? "allow" : "create_not_allowed") << ref;
      EXPECT_EQ(ask(Push(repo, "delete:" + ref)), row.remove ? "allow" : "delete_not_allowed") << ref;
      EXPECT_EQ(ask(Push(repo, "forced:" + ref)), row.force ? "allow" : "force_not_allowed") << ref;
    }
    if (row.push_refs.empty() && !row.fetch) {
      EXPECT_NE(ask(Push(repo, "update:refs/heads/x")), "allow");
    }
  }
  for (const auto& row : outline.endpoints) {
    for (const std::string& method : row.methods) {
      EXPECT_EQ(ask(Request(method, base::StrCat("https://", row.hosts.front(), Sample(row.path)))) == "allow",
                !row.deny)
          << method << " " << row.path;
    }
  }
  for (const auto& row : outline.egress) {
    for (const std::string& host : row.hosts) {
      if (host.ends_with(":80")) continue;  // plain http only, asked in the matrix
      for (const std::string& method : row.methods) {
        EXPECT_EQ(ask(Request(method, base::StrCat("https://", Sample(host),
                                                   row.paths.empty() ? "/" : Sample(row.paths.front())))),
                  "allow")
            << host;
      }
    }
  }
  for (const auto& row : outline.tunnels) {
    for (const std::string& host : row.hosts) EXPECT_EQ(ask(Connect(host + ":443")), "allow") << host;
  }
}

TEST(OutlineTest, WhatItShowsIsWhatIsEnforced) {
  ExpectEnforced(GrantOf({"web-agent"}));
  ExpectEnforced(GrantOf({"web-agent"}, model::Phase::kSetup));
  ExpectEnforced(GrantOf({"agent-star", "svc-read"}));
  ExpectEnforced(GrantOf({"reader"}));
  ExpectEnforced(GrantOf({"release"}));
  ExpectEnforced(GrantOf({"guarded"}));
  ExpectEnforced(GrantOf({"setup-only"}, model::Phase::kSetup, model::Label::kSetup));
  for (model::Narrowing narrowing :
       {model::Narrowing{.methods = {"GET"}}, model::Narrowing{.hosts = {"github.com", "a.pkg.example"}},
        model::Narrowing{.repositories = {"platform/tools", "acme/web"}},
        model::Narrowing{.refs = {"refs/heads/agent/s1/a"}}}) {
    auto grant = GrantOf({"web-agent", "reader"}, model::Phase::kSetup);
    grant.narrowing = narrowing;
    ExpectEnforced(grant);
  }
}

TEST(OutlineTest, FillsTheSessionInAndListsTunnels) {
  const Outline outline = OutlineOf(GrantOf({"web-agent"}), *Fixture(), TestNow());
  ASSERT_EQ(outline.repositories.size(), 1u);
  EXPECT_THAT(outline.repositories[0].push_refs, ElementsAre("refs/heads/agent/s1/**"));
  EXPECT_THAT(outline.repositories[0].api, ElementsAre("read", "read-host", "write.issue", "write.pull_request"));
  EXPECT_TRUE(outline.repositories[0].create);
  EXPECT_TRUE(outline.egress.empty());  // of the setup phase
  ASSERT_EQ(outline.tunnels.size(), 1u);
  EXPECT_EQ(outline.tunnels[0].exception, "EX-7");
}

TEST(OutlineTest, NarrowingIsApplied) {
  auto grant = GrantOf({"web-agent", "reader"});
  grant.narrowing.repositories = {"platform/tools"};
  Outline outline = OutlineOf(grant, *Fixture(), TestNow());
  ASSERT_EQ(outline.repositories.size(), 1u);
  EXPECT_EQ(outline.repositories[0].name, "platform/tools");
  EXPECT_TRUE(outline.endpoints.empty());
  EXPECT_TRUE(outline.tunnels.empty());
  grant.narrowing = {.methods = {"GET"}};
  outline = OutlineOf(grant, *Fixture(), TestNow());
  for (const auto& row : outline.repositories) {
    EXPECT_FALSE(row.fetch);
    EXPECT_TRUE(row.push_refs.empty());
    for (const std::string& granted : row.api) EXPECT_FALSE(granted.starts_with("write.")) << granted;
  }
  EXPECT_TRUE(OutlineOf(GrantOf({"gone"}), *Fixture(), TestNow()).tunnels.empty());
}

TEST(OutlineTest, AllHostsIsTheWholeListWithExceptions) {
  std::string text;
  for (const ReachableHost& host : AllHosts(*Fixture(), TestNow())) {
    base::StrAppend(&text, host.host, " ", host.via, host.inspected ? "" : " tunnel",
                    host.credential ? " credential" : "", host.active ? "" : " off", "\n");
  }
  EXPECT_EQ(text,
            "*.pkg.example egress web-agent/1\n"
            "api.github.com service github credential\n"
            "api.llm.example exception EX-11 tunnel\n"
            "api.llm.example service llm credential\n"
            "ghe.example service ghe credential\n"
            "git.corp.example:8443 service git.corp credential\n"
            "github.com service github credential\n"
            "http.example:80 egress setup-only/1\n"
            "mirror.corp.example egress web-agent/1\n"
            "off.vendor.example exception EX-9 tunnel off\n"
            "old.vendor.example exception EX-8 tunnel off\n"
            "pinned.vendor.example exception EX-7 tunnel\n"
            "plain.example service plain credential\n"
            "plain.example:80 service plain credential\n"
            "scoped.vendor.example exception EX-10 tunnel\n"
            "setup.example egress setup-only/1\n"
            "svc.test service svc credential\n");
}

}  // namespace
}  // namespace credbroker::policy
