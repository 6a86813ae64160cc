#include "evidence/hosts.h"

#include "fixture.h"
#include "policy/decide.h"

namespace credbroker::evidence {
namespace {

bool Allowed(const std::shared_ptr<const policy::RuleSet>& rules, const model::Authority& host, absl::Time now) {
  for (const model::Phase phase : {model::Phase::kSetup, model::Phase::kAgent}) {
    model::Grant grant;
    grant.session = "s-1";
    grant.phase = phase;
    for (const auto& [name, scope] : rules->scopes()) grant.scopes.push_back(name);
    model::Facts facts;
    facts.kind = model::Facts::Kind::kConnect;
    facts.method = "CONNECT";
    facts.authority = host;
    if (policy::Decide(facts, grant, rules, now).allow() != nullptr) return true;
  }
  return false;
}

bool Listed(const policy::RuleSet& rules, const model::Authority& host, absl::Time now) {
  for (const ReachableHost& one : ReachableHosts(rules, now)) {
    const auto pattern = model::HostPattern::Parse(one.host);
    if (pattern.ok() && pattern->Matches(host)) return true;
  }
  return false;
}

// S8: the list and the one decision agree, for what is listed and for what is near it.
TEST(HostsTest, AllowedIfAndOnlyIfListed) {
  const auto rules = Rules(std::string(kPolicy) + std::string(kTunnel));
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000), expired = absl::FromUnixSeconds(1'950'000'000);
  int reached = 0;
  for (const char* name : {"git.corp.example", "api.llm.example", "mirror.example", "a.cdn.example:8443", "x.a.cdn.example:8443", "pinned.example", "cdn.example:8443", "a.cdn.example",
                           "git.corp.example:8443", "mirror.example:80", "evil.example", "git.corp.example.evil.example", "corp.example", "127.0.0.1", "10.1.0.1", "localhost"}) {
    const auto host = model::ParseAuthority(name, 443);
    ASSERT_TRUE(host.ok()) << name;
    for (const absl::Time at : {now, expired}) {
      EXPECT_EQ(Allowed(rules, *host, at), Listed(*rules, *host, at)) << name;
      reached += Listed(*rules, *host, at) ? 1 : 0;
    }
  }
  EXPECT_EQ(reached, 11) << "six while the exception holds, five afterwards";
}

// Storage that no session can name is listed all the same: bytes of a session go there.
TEST(HostsTest, LfsStorageIsListedAndNobodyConnectsToIt) {
  std::string text(kPolicy);
  text.replace(text.find("hosts: [git.corp.example]"), 25, "hosts: [git.corp.example], lfs_hosts: [store.example]");
  const auto rules = Rules(text);
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  const auto store = model::ParseAuthority("store.example", 443);
  EXPECT_TRUE(Listed(*rules, *store, now));
  EXPECT_FALSE(Allowed(rules, *store, now));
}

TEST(HostsTest, EachSaysWhy) {
  const auto rules = Rules(std::string(kPolicy) + std::string(kTunnel));
  const auto hosts = ReachableHosts(*rules, absl::FromUnixSeconds(1'800'000'000));
  ASSERT_EQ(hosts.size(), 5u);
  EXPECT_EQ(hosts[0].host, "*.cdn.example:8443");
  EXPECT_EQ(hosts[4].host, "pinned.example");
  EXPECT_EQ(hosts[4].why, "exception EX-7");
  EXPECT_FALSE(hosts[4].inspected);
}

}  // namespace
}  // namespace credbroker::evidence
