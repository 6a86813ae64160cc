#include "policy/body_rules.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "fixture.h"
#include "policy/decide.h"

namespace credbroker::policy {
namespace {

using Kind = model::BodyField::Kind;

constexpr char kPolicy[] = R"(apiVersion: credbroker/v1
services:
  github: {preset: github}
  lab: {preset: gitlab, hosts: [lab.example]}
credentials:
  bot: {service: github, provider: static, secret: secret:bot}
  lab-bot: {service: lab, provider: static, secret: secret:lab}
scopes:
  work:
    requesters: [team]
    repositories:
      - {service: github, name: acme/web, id: 17, credential: bot, api: [read, read-host, write]}
      - {service: lab, name: group/sub/app, credential: lab-bot, api: [read, write]}
  ops:
    requesters: [team]
    repositories:
      - service: github
        name: acme/web
        credential: bot
        git: {push: {refs: ["refs/heads/agent/**"], create: allow}}
        api: [read]
        dangerous:
          - {classes: [ref-write, merge], owner: jo@corp.example, reason: release train, expires: 2027-01-31}
          - {classes: [review], owner: jo@corp.example, reason: trial, expires: 2026-01-31}
)";

std::shared_ptr<const model::BodyFacts> Body(std::vector<model::BodyField> members) {
  auto out = std::make_shared<model::BodyFacts>();
  out->members = std::move(members);
  return out;
}

class BodyRulesTest : public testing::Test {
 protected:
  std::string Ask(const char* scope, const char* method, const char* url, std::vector<model::BodyField> members) {
    model::Facts facts = Request(method, url);
    facts.body = Body(std::move(members));
    const model::Decision decision = Decide(facts, GrantOf({scope}), rules_, TestNow());
    const auto* allow = decision.allow();
    return allow != nullptr ? base::StrCat("allow ", (*allow)->effect_class) : base::StrCat(CodeOf(decision), " ", decision.deny()->effect_class);
  }
  std::shared_ptr<const RuleSet> rules_ = *LoadText(kPolicy);
};

#define PULLS "https://api.github.com/repos/acme/web/pulls"

TEST_F(BodyRulesTest, AReviewIsAnApprovalOrAComment) {
  EXPECT_EQ(Ask("work", "POST", PULLS "/1/reviews", {{"event", Kind::kString, "COMMENT"}}), "allow write.review_comment");
  EXPECT_EQ(Ask("work", "POST", PULLS "/1/reviews", {{"event", Kind::kString, "APPROVE"}}), "class_not_allowed review");
  EXPECT_EQ(Ask("work", "POST", PULLS "/1/reviews", {{"event", Kind::kString, "comment"}}), "class_not_allowed review");
  EXPECT_EQ(Ask("work", "POST", PULLS "/1/reviews", {}), "class_not_allowed review");
  EXPECT_EQ(Ask("work", "POST", PULLS "/1/reviews", {{"event", Kind::kArray, ""}}), "body_undecided review");
}

TEST_F(BodyRulesTest, APullRequestStaysInItsRepository) {
  EXPECT_EQ(Ask("work", "POST", PULLS, {{"head", Kind::kString, "agent/x"}, {"base", Kind::kString, "main"}}), "allow write.pull_request");
  EXPECT_EQ(Ask("work", "POST", PULLS, {{"head", Kind::kString, "ACME:agent/x"}}), "allow write.pull_request");
  EXPECT_EQ(Ask("work", "POST", PULLS, {{"head", Kind::kString, "other:agent/x"}}), "cross_repository write.pull_request");
  EXPECT_EQ(Ask("work", "POST", PULLS, {{"head", Kind::kString, "x"}, {"head_repo", Kind::kString, "fork"}}), "cross_repository write.pull_request");
  EXPECT_EQ(Ask("work", "PATCH", PULLS "/1", {{"title", Kind::kString, "x"}}), "allow write.pull_request");
  EXPECT_EQ(Ask("work", "PATCH", PULLS "/1", {{"base", Kind::kString, "main"}}), "class_not_allowed review.retarget");
}

TEST_F(BodyRulesTest, CommandsInTextsCount) {
#define MERGE_REQUESTS "https://lab.example/api/v4/projects/group%2Fsub%2Fapp/merge_requests"
  EXPECT_EQ(Ask("work", "POST", MERGE_REQUESTS "/1/notes", {{"body", Kind::kString, "fine"}}), "allow write.pull_request");
  EXPECT_EQ(Ask("work", "POST", MERGE_REQUESTS "/1/notes", {{"body", Kind::kString, "fine\n  /merge"}}), "class_not_allowed merge");
  EXPECT_EQ(Ask("work", "POST", MERGE_REQUESTS, {{"target_project_id", Kind::kNumber, "9"}}), "cross_repository write.pull_request");
  EXPECT_EQ(Ask("work", "GET", "https://lab.example/api/v4/projects/group%2Fother/issues", {}), "repository_not_allowed read");
}

TEST_F(BodyRulesTest, ANumberCountsOnlyWhenThePolicyNamesIt) {
  EXPECT_EQ(Ask("work", "GET", "https://api.github.com/repositories/17/issues", {}), "allow read");
  EXPECT_EQ(Ask("work", "GET", "https://api.github.com/repositories/18/issues", {}), "repository_not_allowed read");
  EXPECT_EQ(Ask("work", "GET", "https://lab.example/api/v4/projects/5/issues", {}), "repository_not_allowed read");
}

TEST_F(BodyRulesTest, TheApiMovesNoRefThatAPushMayNot) {
#define REFS "https://api.github.com/repos/acme/web/git/refs"
#define FILE "https://api.github.com/repos/acme/web/contents/"
  EXPECT_EQ(Ask("ops", "PUT", FILE "a.txt", {{"branch", Kind::kString, "agent/x"}}), "allow ref-write");
  EXPECT_EQ(Ask("ops", "PUT", FILE "a.txt", {{"branch", Kind::kString, "main"}}), "ref_not_allowed ref-write");
  EXPECT_EQ(Ask("ops", "PUT", FILE "a.txt", {}), "body_undecided ref-write");
  EXPECT_EQ(Ask("ops", "PUT", FILE ".github/workflows/ci.yml", {{"branch", Kind::kString, "agent/x"}}), "class_not_allowed workflow.file");
  EXPECT_EQ(Ask("ops", "POST", REFS, {{"ref", Kind::kString, "refs/heads/agent/y"}}), "allow ref-write");
  EXPECT_EQ(Ask("ops", "POST", REFS, {{"ref", Kind::kString, "refs/tags/v1"}}), "ref_not_allowed ref-write");
  EXPECT_EQ(Ask("ops", "PATCH", REFS "/heads/agent/x", {{"force", Kind::kFalse, ""}}), "allow ref-write");
  EXPECT_EQ(Ask("ops", "PATCH", REFS "/heads/agent/x", {{"force", Kind::kTrue, ""}}), "class_not_allowed force-ref");
  EXPECT_EQ(Ask("work", "PUT", FILE "a.txt", {{"branch", Kind::kString, "agent/x"}}), "class_not_allowed ref-write");
}

TEST_F(BodyRulesTest, DangerousGrantsEnd) {
  EXPECT_EQ(Ask("ops", "PUT", PULLS "/1/merge", {}), "allow merge");
  EXPECT_EQ(Ask("ops", "POST", PULLS "/1/reviews", {{"event", Kind::kString, "APPROVE"}}), "exception_expired review");
  EXPECT_EQ(Ask("work", "PUT", PULLS "/1/merge", {}), "class_not_allowed merge");
}

}  // namespace
}  // namespace credbroker::policy
