#include "policy/lfs.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "kit/status_matchers.h"
#include "policy/decide.h"

namespace credbroker::policy {
namespace {

using model::Decision;
using model::Facts;
using model::GitFacts;
using Operation = model::GitFacts::Operation;

std::shared_ptr<const RuleSet> Rules() {
  const auto rules = LoadText(
      "apiVersion: credbroker/v1\n"
      "services: {g: {hosts: [g.test], lfs_hosts: [store.test, '*.cdn.test:8443']}}\n"
      "credentials: {bot: {service: g, provider: static, secret: s}}\n"
      "scopes:\n"
      "  both: {requesters: [r], repositories: [{service: g, name: o/r, credential: bot, git: {fetch: allow, push: {refs: ['refs/heads/a/*', 'refs/tags/*'], "
      "deny_paths: [x], max_blob_bytes: 100, max_push_bytes: 150}}}]}\n"
      "  fetch: {requesters: [r], repositories: [{service: g, name: o/r, credential: bot, git: {fetch: allow}}]}\n"
      "  push: {requesters: [r], repositories: [{service: g, name: o/r, credential: bot, git: {push: {refs: ['refs/heads/a/*']}}}]}\n");
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *rules;
}

Facts Ask(Operation operation, std::string_view ref = {}) {
  Facts facts = Request("POST", "https://g.test/o/r.git/info/lfs/objects/batch");
  facts.git->operation = operation;
  if (!ref.empty()) facts.git->changes.push_back({.kind = model::RefChange::Kind::kUpdate, .ref = std::string(ref), .old_id = {}, .new_id = {}});
  return facts;
}

std::string Answer(const Facts& facts, const std::string& scope) { return CodeOf(Decide(facts, GrantOf({scope}), Rules(), TestNow())); }

TEST(LfsTest, ReadsNeedFetchAndWritesARefThatMayBePushed) {
  EXPECT_EQ(Answer(Ask(Operation::kLfsRead), "fetch"), "allow");
  EXPECT_EQ(Answer(Ask(Operation::kLfsRead), "push"), "lfs_not_allowed");
  EXPECT_EQ(Answer(Ask(Operation::kLfsCheck), "push"), "allow");
  EXPECT_EQ(Answer(Ask(Operation::kLfsCheck), "fetch"), "lfs_not_allowed");
  EXPECT_EQ(Answer(Ask(Operation::kLfsWrite, "refs/heads/a/x"), "push"), "allow") << "also before the branch is made";
  EXPECT_EQ(Answer(Ask(Operation::kLfsWrite, "refs/heads/a/x"), "both"), "allow") << "no rule on paths can hold for it";
  EXPECT_EQ(Answer(Ask(Operation::kLfsWrite, "refs/heads/a/x"), "fetch"), "lfs_not_allowed");
  EXPECT_EQ(Answer(Ask(Operation::kLfsWrite, "refs/heads/main"), "both"), "ref_not_allowed");
  EXPECT_EQ(Answer(Ask(Operation::kLfsWrite, "refs/heads/../x"), "both"), "odd_ref");
  EXPECT_EQ(Answer(Ask(Operation::kLfsWrite), "both"), "ref_not_allowed") << "for no ref";
  Facts other = Ask(Operation::kLfsRead);
  other.git->repository = "o/other";
  EXPECT_EQ(Answer(other, "both"), "repository_not_allowed");
  Facts force = Ask(Operation::kLfsWrite, "refs/heads/a/x");
  force.git->lfs.force = true;
  EXPECT_EQ(Answer(force, "both"), "lfs_not_allowed");
}

TEST(LfsTest, UploadsKeepToTheSizesOfTheRule) {
  Facts facts = Ask(Operation::kLfsWrite, "refs/heads/a/x");
  facts.git->lfs.largest = 100;
  facts.git->lfs.total = 150;
  EXPECT_EQ(Answer(facts, "both"), "allow");
  facts.git->lfs.largest = 101;
  EXPECT_EQ(Answer(facts, "both"), "push_too_large");
  facts.git->lfs.largest = 1;
  facts.git->lfs.total = 151;
  EXPECT_EQ(Answer(facts, "both"), "push_too_large");
  EXPECT_EQ(Answer(facts, "push"), "allow") << "no limit there";
}

TEST(LfsTest, StorageIsTheServicesOrListed) {
  const auto ask = [](std::string_view host) {
    Facts facts = Ask(Operation::kLfsRead);
    facts.git->lfs.storage = *model::ParseAuthority(host, 443);
    return Decide(facts, GrantOf({"fetch"}), Rules(), TestNow());
  };
  for (const auto& [host, credential] : std::vector<std::pair<std::string, bool>>{{"g.test", true}, {"store.test", false}, {"x.cdn.test:8443", false}}) {
    const Decision decision = ask(host);
    ASSERT_NE(decision.allow(), nullptr) << host;
    EXPECT_EQ((*decision.allow())->credential != nullptr, credential) << host << ": the credential goes to the service's own hosts alone";
  }
  for (const char* host : {"evil.test", "store.test:444", "x.cdn.test", "store.test.evil.test", "169.254.169.254"}) EXPECT_EQ(CodeOf(ask(host)), "host_not_allowed") << host;
}

TEST(LfsTest, ATokenThatIsNarrowedToRefsWritesForThoseAlone) {
  auto grant = GrantOf({"both"});
  grant.narrowing.refs = {"refs/heads/a/x"};
  EXPECT_EQ(CodeOf(Decide(Ask(Operation::kLfsWrite, "refs/heads/a/x"), grant, Rules(), TestNow())), "allow");
  EXPECT_EQ(CodeOf(Decide(Ask(Operation::kLfsWrite, "refs/heads/a/y"), grant, Rules(), TestNow())), "narrowed");
  EXPECT_EQ(CodeOf(Decide(Ask(Operation::kLfsRead), grant, Rules(), TestNow())), "allow");
}

}  // namespace
}  // namespace credbroker::policy
