#include "policy/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/str.h"
#include "fixture.h"
#include "kit/status_matchers.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using model::Decision;
using model::Facts;

Decision Ask(const Facts& facts, const model::Grant& grant) { return Decide(facts, grant, Fixture(), TestNow()); }

TEST(DecideTest, TheEmptyRuleSetDeniesEverything) {
  const auto rules = RuleSet::Empty();
  EXPECT_EQ(rules->version(), 0);
  for (const Facts& facts : {Connect("github.com:443"), Request("GET", "https://github.com/"),
                             Push("https://github.com/a/b", "create:refs/heads/x")}) {
    EXPECT_EQ(CodeOf(Decide(facts, GrantOf({"web-agent"}), rules, TestNow())), "no_scope");
  }
}

TEST(DecideTest, NoRuleNamesALongRepository) {
  const auto read = [](std::size_t bytes) {  // platform/* is named
    return Ask(Request("GET", "https://git.corp.example:8443/api/v1/repos/platform/" + std::string(bytes - 9, 'x')), GrantOf({"reader"}));
  };
  EXPECT_EQ(CodeOf(read(256)), "allow");
  EXPECT_EQ(CodeOf(read(257)), "repository_not_allowed");
}

TEST(DecideTest, AnAllowNamesHowTheRequestGoesOn) {
  const Decision decision = Ask(Request("POST", "https://api.llm.example/v1/messages"), GrantOf({"web-agent"}));
  ASSERT_NE(decision.allow(), nullptr);
  const auto& allow = **decision.allow();
  EXPECT_EQ(allow.scope, "web-agent");
  EXPECT_EQ(allow.service, "llm");
  EXPECT_EQ(allow.upstream->id, "service llm");
  EXPECT_EQ(allow.credential->secret, "llm");
  EXPECT_EQ(allow.limits.requests_per_minute, 600);
  EXPECT_EQ(allow.policy_version, 7);
  EXPECT_TRUE(allow.managed);
}

TEST(DecideTest, AnAllowKeepsItsPolicyVersionAlive) {
  std::shared_ptr<const RuleSet> rules = Fixture();
  const std::weak_ptr<const RuleSet> watch = rules;
  {
    const Decision decision =
        Decide(Request("POST", "https://api.llm.example/v1/messages"), GrantOf({"web-agent"}), rules, TestNow());
    rules.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ((*decision.allow())->credential->name, "llm-key");
  }
  EXPECT_TRUE(watch.expired());
}

TEST(DecideTest, GitAndApiGetTheirOwnPlacements) {
  const auto grant = GrantOf({"web-agent"});
  const Decision git = Ask(Request("POST", "https://github.com/acme/web/git-upload-pack"), grant);
  const Decision api = Ask(Request("GET", "https://api.github.com/repos/acme/web"), grant);
  EXPECT_EQ((*git.allow())->credential->placement.kind, model::Placement::Kind::kBasic);
  EXPECT_EQ((*api.allow())->credential->placement.kind, model::Placement::Kind::kHeader);
}

TEST(DecideTest, EgressIsNotManagedAndCarriesNoCredential) {
  const Decision decision =
      Ask(Request("GET", "https://mirror.corp.example/x"), GrantOf({"web-agent"}, model::Phase::kSetup));
  ASSERT_NE(decision.allow(), nullptr);
  EXPECT_FALSE((*decision.allow())->managed);
  EXPECT_EQ((*decision.allow())->credential, nullptr);
  EXPECT_EQ((*decision.allow())->upstream->id, "egress web-agent/1");
}

// S63: what the setup phase may reach, the agent phase may not, by connection or by request.
TEST(DecideTest, SetupNetworkIsGoneInTheAgentPhase) {
  for (const Facts& facts : {Connect("mirror.corp.example:443"), Request("GET", "https://mirror.corp.example/x")}) {
    EXPECT_EQ(CodeOf(Ask(facts, GrantOf({"web-agent"}, model::Phase::kSetup))), "allow");
    EXPECT_EQ(CodeOf(Ask(facts, GrantOf({"web-agent"}, model::Phase::kAgent))), "phase_not_allowed");
  }
}

TEST(DecideTest, AnExceptionEndsAtItsExpiry) {
  const auto rules = Fixture();
  const absl::Time expiry = rules->exceptions().at("EX-7").expires;
  const auto grant = GrantOf({"web-agent"});
  const Facts facts = Connect("pinned.vendor.example:443");
  const Decision before = Decide(facts, grant, rules, expiry - absl::Nanoseconds(1));
  ASSERT_NE(before.allow(), nullptr);
  EXPECT_EQ((*before.allow())->handling, model::Handling::kTunnel);
  EXPECT_EQ((*before.allow())->exception, "EX-7");
  const Decision at = Decide(facts, grant, rules, expiry);
  ASSERT_NE(at.deny(), nullptr);
  EXPECT_EQ(at.deny()->code, ErrorCode::kExceptionExpired);
  EXPECT_EQ(at.deny()->exception, "EX-7");
}

TEST(DecideTest, OneRefusedRefRefusesThePushAndIsNamed) {
  const Decision decision =
      Ask(Push("https://github.com/acme/star", "update:refs/heads/agent/x update:refs/heads/main"),
          GrantOf({"agent-star"}));
  ASSERT_NE(decision.deny(), nullptr);
  EXPECT_EQ(decision.deny()->code, ErrorCode::kRefNotAllowed);
  EXPECT_EQ(decision.deny()->ref, "refs/heads/main");
}

TEST(DecideTest, OnlyProvenFastForwardsPassWithoutForce) {
  const auto rules = Fixture();
  const auto grant = GrantOf({"agent-star"});
  Facts facts = Push("https://github.com/acme/star", "unproven:refs/heads/agent/x");
  EXPECT_TRUE(NeedsOfPush(facts, grant, rules).ancestry);
  for (const auto ancestry : {model::RefChange::Ancestry::kUnproven, model::RefChange::Ancestry::kNotApplicable}) {
    facts.git->changes[0].ancestry = ancestry;
    EXPECT_EQ(CodeOf(Decide(facts, grant, rules, TestNow())), "force_not_allowed");
  }
  facts.git->changes[0].ancestry = model::RefChange::Ancestry::kFastForward;
  const Decision decision = Decide(facts, grant, rules, TestNow());
  ASSERT_NE(decision.allow(), nullptr);
  EXPECT_TRUE((*decision.allow())->proves_ancestry);
}

TEST(DecideTest, AncestryIsNotAskedForWhereItCannotMatter) {
  const auto rules = Fixture();
  const auto needs = [&](std::string_view repo, std::string_view changes, std::vector<std::string> scopes) {
    return NeedsOfPush(Push(repo, changes), GrantOf(std::move(scopes)), rules).ancestry;
  };
  EXPECT_FALSE(needs("https://github.com/acme/star", "create:refs/heads/agent/x", {"agent-star"}));
  EXPECT_FALSE(needs("https://github.com/acme/star", "unproven:refs/heads/main", {"agent-star"}));   // refused anyway
  EXPECT_FALSE(needs("https://github.com/acme/web", "unproven:refs/heads/release/1", {"release"}));  // force is allowed
  EXPECT_FALSE(needs("https://github.com/acme/web", "unproven:refs/tags/v1", {"release"}));
  EXPECT_FALSE(needs("https://github.com/acme/star", "", {"agent-star"}));
  EXPECT_TRUE(
      needs("https://github.com/acme/star", "create:refs/heads/agent/y unproven:refs/heads/agent/x", {"agent-star"}));
  EXPECT_FALSE(NeedsOfPush(Request("GET", "https://github.com/acme/star/info/refs?service=git-receive-pack"),
                           GrantOf({"agent-star"}), rules)
                   .any());
}

// A path that the edge should have refused is refused here as well (B27).
TEST(DecideTest, APathWithTwoReadingsIsDeniedWhoeverLetItThrough) {
  Facts facts = Request("GET", "https://svc.test/repos/o/a/x");
  for (const char* path :
       {"", "repos", "/repos/o/a/../b", "/repos/o/a/%2e%2e/b", "/repos/o/a//b", "/repos/o/a/..\\b", "/repos/o/a;x"}) {
    facts.path = path;
    EXPECT_EQ(CodeOf(Ask(facts, GrantOf({"svc-read"}))), "bad_path") << path;
  }
}

// Field 47: each verb, with and without a more specific deny; the deny wins for every one.
TEST(DecideTest, DenyWinsForEveryVerbInAnyOrderOfScopes) {
  const auto load = [](std::string_view deny_first) {
    return LoadText(
        base::StrCat("apiVersion: credbroker/v1\nservices: {s: {hosts: [s.test]}}\nscopes:\n"
                     "  a: {requesters: [r], endpoints: [{service: s, allow: [{methods: [GET, HEAD, POST, PUT, PATCH, "
                     "DELETE, OPTIONS], path: '/**'}]}]}\n"
                     "  b: {requesters: [r], endpoints: [{service: s, ",
                     deny_first, "}]}\n"));
  };
  for (const std::string method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    ASSERT_OK_AND_ASSIGN(const auto rules, load(base::StrCat("deny: [{methods: [", method, "], path: '/x/*'}]")));
    for (const std::string other : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
      for (const auto& scopes : {std::vector<std::string>{"a", "b"}, std::vector<std::string>{"b", "a"}}) {
        const Decision decision = Decide(Request(other, "https://s.test/x/y"), GrantOf(scopes), rules, TestNow());
        EXPECT_EQ(CodeOf(decision), other == method ? "no_rule" : "allow") << method << " " << other;
      }
      EXPECT_EQ(CodeOf(Decide(Request(other, "https://s.test/z"), GrantOf({"b", "a"}), rules, TestNow())), "allow");
    }
  }
}

TEST(DecideTest, ADenyOfAPathHoldsForGitAndTheApiAsWell) {
  ASSERT_OK_AND_ASSIGN(
      const auto rules,
      LoadText("apiVersion: credbroker/v1\nservices: {g: {preset: gitea, hosts: [g.test]}}\nscopes:\n"
               "  a: {requesters: [r], repositories: [{service: g, name: o/r, git: {fetch: allow}, api: [read]}]}\n"
               "  b: {requesters: [r], endpoints: [{service: g, deny: [{methods: [GET, POST], path: '/o/**'}, "
               "{methods: [GET], path: /api/v1/repos/o/r/hidden}, {methods: [GET], path: "
               "'/api/v1/repos/*/*/issues'}]}]}\n"));
  for (const Facts& facts : {Request("POST", "https://g.test/O/r/git-upload-pack"),
                             Request("GET", "https://g.test/api/v1/repos/o/r/issues")}) {
    EXPECT_EQ(CodeOf(Decide(facts, GrantOf({"a"}), rules, TestNow())), "allow");
    EXPECT_EQ(CodeOf(Decide(facts, GrantOf({"a", "b"}), rules, TestNow())), "no_rule");
  }
}

TEST(DecideTest, ScopesAddUpAndEveryScopeStaysItself) {
  EXPECT_EQ(CodeOf(Ask(Push("https://github.com/acme/web", "forced:refs/heads/release/1"),
                       GrantOf({"web-agent", "release"}))),
            "allow");
  EXPECT_EQ(CodeOf(Ask(Push("https://github.com/acme/web", "forced:refs/heads/release/1"), GrantOf({"web-agent"}))),
            "ref_not_allowed");
  // The `force` of one scope does not reach the refs of the other.
  EXPECT_EQ(CodeOf(Ask(Push("https://github.com/acme/web", "forced:refs/heads/agent/s1/x"),
                       GrantOf({"web-agent", "release"}))),
            "force_not_allowed");
}

TEST(DecideTest, UnknownLabelsAndPhasesGiveNothing) {
  const Facts facts = Request("GET", "https://setup.example/dist/a");
  EXPECT_EQ(CodeOf(Ask(facts, GrantOf({"setup-only"}, model::Phase::kSetup, model::Label::kSetup))), "allow");
  EXPECT_EQ(CodeOf(Ask(facts, GrantOf({"setup-only"}, model::Phase::kSetup, model::Label::kAgent))),
            "label_not_allowed");
  EXPECT_EQ(CodeOf(Ask(facts, GrantOf({"setup-only"}, model::Phase::kAgent, model::Label::kSetup))),
            "phase_not_allowed");
}

// Random facts built from words of the fixture: every Allow must come from a scope of the session, and a session
// without scopes, or with scopes that are not in the policy, is never allowed anything.
class RandomFacts {
 public:
  Facts Next() {
    Facts facts;
    facts.kind = Pick(10) == 0 ? Facts::Kind::kConnect : Facts::Kind::kRequest;
    facts.scheme = Pick(5) == 0 ? model::Scheme::kHttp : model::Scheme::kHttps;
    facts.authority.host =
        Of({"github.com", "api.github.com", "git.corp.example", "svc.test", "mirror.corp.example", "x.pkg.example",
            "api.llm.example", "pinned.vendor.example", "nothing.example", "plain.example", "", "ghe.example"});
    facts.authority.port = static_cast<uint16_t>(std::array<int, 4>{443, 80, 8443, 0}[Pick(4)]);
    facts.method = Of({"GET", "POST", "PUT", "DELETE", "get", "", "PATCH"});
    facts.path = Of({"/", "/v1/messages", "/repos/acme/web", "/repos/acme/web/pulls/1/merge", "/repos/acme/web/issues",
                     "/api/v3/repos/myorg/my.repo", "/acme/web.git/git-receive-pack", "/../x", "", "/repos/o/a/b"});
    if (Pick(2) == 0) AddGit(&facts);
    return facts;
  }

 private:
  std::size_t Pick(std::size_t n) { return random_() % n; }
  std::string Of(std::initializer_list<const char*> words) { return *(words.begin() + Pick(words.size())); }

  void AddGit(Facts* facts) {
    model::GitFacts& git = facts->git.emplace();
    git.operation = static_cast<model::GitFacts::Operation>(Pick(5));
    git.repository = Of({"acme/web", "ACME/WEB", "acme/star", "acme/other", "", "platform/x", "/", "acme/web.wiki"});
    for (std::size_t i = Pick(4); i > 0; --i) {
      model::RefChange change;
      change.kind = static_cast<model::RefChange::Kind>(Pick(3));
      change.ancestry = static_cast<model::RefChange::Ancestry>(Pick(3));
      change.ref = Of({"refs/heads/agent/s1/x", "refs/heads/agent/x", "refs/heads/main", "refs/tags/v1",
                       "refs/heads/release/1", "HEAD", "", "refs/pull/1/head"});
      git.changes.push_back(std::move(change));
    }
  }

  std::mt19937 random_{20261130};
};

TEST(DecideTest, NothingIsAllowedWithoutAScopeOfTheSession) {
  const auto rules = Fixture();
  RandomFacts random;
  int allowed = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Facts facts = random.Next();
    for (const auto& scopes :
         {std::vector<std::string>{}, std::vector<std::string>{"none"}, std::vector<std::string>{"Web-Agent", ""}}) {
      ASSERT_EQ(CodeOf(Decide(facts, GrantOf(scopes), rules, TestNow())), "no_scope");
    }
    const Decision decision = Decide(facts, GrantOf({"web-agent", "agent-star", "svc-read"}), rules, TestNow());
    const Decision again = Decide(facts, GrantOf({"web-agent", "agent-star", "svc-read"}), rules, TestNow());
    ASSERT_EQ(Told(decision), Told(again));
    if (decision.allow() == nullptr) continue;
    ++allowed;
    const auto& allow = **decision.allow();
    ASSERT_NE(allow.upstream, nullptr);
    ASSERT_TRUE(!allow.exception.empty() || allow.scope == "web-agent" || allow.scope == "agent-star" ||
                allow.scope == "svc-read")
        << Told(decision);
    ASSERT_TRUE(facts.kind == Facts::Kind::kConnect || !facts.git || facts.git->changes.empty() ||
                allow.effect_class != "push.force")
        << Told(decision);
    ASSERT_NE(facts.authority.host, "nothing.example");
  }
  EXPECT_GT(allowed, 50);  // the property is not empty
}

// Narrowing never allows what the whole grant does not, and keeps what it does not concern.
TEST(DecideTest, NarrowingOnlyTakesAway) {
  const auto rules = Fixture();
  RandomFacts random;
  const auto whole = GrantOf({"web-agent", "agent-star", "svc-read"});
  std::vector<model::Narrowing> narrowings = {{.methods = {"GET"}},
                                              {.hosts = {"github.com"}},
                                              {.repositories = {"acme/web"}},
                                              {.refs = {"refs/heads/agent/**"}}};
  for (int i = 0; i < 5'000; ++i) {
    const Facts facts = random.Next();
    const bool all = Decide(facts, whole, rules, TestNow()).allow() != nullptr;
    for (const model::Narrowing& narrowing : narrowings) {
      auto grant = whole;
      grant.narrowing = narrowing;
      const bool some = Decide(facts, grant, rules, TestNow()).allow() != nullptr;
      ASSERT_TRUE(all || !some);
    }
  }
}

}  // namespace
}  // namespace credbroker::policy
