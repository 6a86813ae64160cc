#include "control/policies.h"

#include "fixture.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing::HasSubstr;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class PoliciesTest : public CoreTest {
 protected:
  absl::StatusOr<Applied> Apply(const std::string& text, DryRun dry_run = DryRun::kNo) {
    return core_->policies().Apply(PolicyOf(text), dry_run, {.actor = "uid:0", .reason = "why not"});
  }
  static constexpr char kSmall[] =
      "apiVersion: credbroker/v1\nscopes:\n  docs: {description: d, requesters: [team-docs]}\n";
};

TEST_F(PoliciesTest, ABrokenPolicyChangesNothing) {
  const std::string digest = core_->rules().Get()->digest();
  const auto refused = Apply("apiVersion: credbroker/v1\nscopes:\n  web: {requesterz: [x]}\n");
  EXPECT_THAT(refused, FailsWith(ErrorCode::kPolicyInvalid));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("policy.yaml:3"));
  EXPECT_EQ(core_->rules().Get()->digest(), digest);
  ASSERT_OK_AND_ASSIGN(const auto history, core_->policies().History());
  EXPECT_EQ(history.size(), 1u);
  EXPECT_EQ(Records("admin").size(), 1u);
}

TEST_F(PoliciesTest, TheRecordPrecedesTheEffect) {
  const std::string before = core_->rules().Get()->digest();
  ASSERT_OK_AND_ASSIGN(const Applied applied, Apply(kSmall));
  EXPECT_EQ(applied.version, 2);
  const auto records = Records("admin");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[1], HasSubstr(before));
  EXPECT_THAT(records[1], HasSubstr(applied.digest));
  EXPECT_THAT(records[1], HasSubstr("does not widen"));
  EXPECT_THAT(records[0], HasSubstr("\"widens\""));
  BreakLedger();
  EXPECT_THAT(core_->policies().Apply(FixturePolicy(), DryRun::kNo, {.actor = "uid:0"}),
              FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_EQ(core_->rules().Get()->version(), 2);
}

TEST_F(PoliciesTest, DryRunTellsAndDoesNothing) {
  ASSERT_OK_AND_ASSIGN(const Applied would, Apply(kSmall, DryRun::kYes));
  EXPECT_FALSE(would.changes.empty());
  EXPECT_EQ(would.version, 1);
  EXPECT_EQ(core_->rules().Get()->version(), 1);
  EXPECT_EQ(Records("admin").size(), 1u);
}

TEST_F(PoliciesTest, TheSamePolicyIsNoNewVersion) {
  ASSERT_OK_AND_ASSIGN(const Applied again, core_->policies().Apply(FixturePolicy(), DryRun::kNo, {.actor = "uid:0"}));
  EXPECT_TRUE(again.unchanged);
  EXPECT_EQ(again.version, 1);
}

TEST_F(PoliciesTest, KeepsEveryVersionWithAuthorAndDiff) {
  ASSERT_THAT(Apply(kSmall), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto history, core_->policies().History());
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].version, 2);
  EXPECT_EQ(history[0].author, "uid:0");
  EXPECT_EQ(history[0].comment, "why not");
  ASSERT_OK_AND_ASSIGN(const PolicyText first, core_->policies().Get(1));
  EXPECT_EQ(first.source, FixturePolicy());
  ASSERT_OK_AND_ASSIGN(const auto changes, core_->policies().Diff(1, 2));
  EXPECT_FALSE(changes.empty());
  ASSERT_OK_AND_ASSIGN(const auto latest, core_->policies().Diff(0, 0));
  EXPECT_EQ(latest, changes);
  EXPECT_THAT(core_->policies().Get(9), FailsWith(ErrorCode::kPolicyNotFound));
}

TEST_F(PoliciesTest, WarnsOfSecretsThatAreNotSet) {
  ASSERT_OK_AND_ASSIGN(const auto missing, core_->policies().MissingSecrets(*core_->rules().Get()));
  EXPECT_THAT(missing, testing::ElementsAre("bot-secret", "llm"));
}

TEST_F(PoliciesTest, ExplainsASessionATokenAndAScope) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  const std::vector<policy::Question> questions = {{.method = "POST", .url = "https://api.llm.example/v1/messages"},
                                                   {.method = "GET", .url = "https://elsewhere.example/"}};
  for (const AskedAbout& who : {AskedAbout(AskSession{opened.session.id}), AskedAbout(AskToken{TextOf(opened.token)}),
                                AskedAbout(AskScope{"web"})}) {
    ASSERT_OK_AND_ASSIGN(const auto answers, core_->policies().Explain(Admin(), who, questions));
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_EQ(answers[0].decision, "allow");
    EXPECT_EQ(answers[0].credential, "llm-key");
    EXPECT_EQ(answers[1].decision, "deny");
    EXPECT_EQ(answers[1].reason_code, "host_not_allowed");
  }
  EXPECT_THAT(core_->policies().Explain(Admin(), AskScope{"none"}, {}), FailsWith(ErrorCode::kScopeNotFound));
}

TEST_F(PoliciesTest, AHolderAsksAboutItselfOnly) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(const SessionAndToken other, Open());
  const Caller holder = Holder(opened.token);
  EXPECT_THAT(core_->policies().Explain(holder, AskSession{opened.session.id}, {}), IsOk());
  EXPECT_THAT(core_->policies().Explain(holder, AskSession{other.session.id}, {}),
              FailsWith(ErrorCode::kCallerNotAllowed));
  EXPECT_THAT(core_->policies().Explain(holder, AskScope{"web"}, {}), FailsWith(ErrorCode::kCallerNotAllowed));
}

TEST_F(PoliciesTest, ListsExceptionsWithTheirUses) {
  ASSERT_THAT(core_->store().exception_uses().Add("EX-7", 3, clock_.Now()), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto views, core_->policies().Exceptions());
  ASSERT_EQ(views.size(), 2u);
  EXPECT_TRUE(views[1].built_in) << "those of the policy come first";
  EXPECT_EQ(views[0].state, "active");
  EXPECT_EQ(views[0].uses, 3);
  clock_.Advance(absl::Hours(24 * 365 * 20));
  ASSERT_OK_AND_ASSIGN(const auto later, core_->policies().Exceptions());
  EXPECT_EQ(later[0].state, "expired");
}

}  // namespace
}  // namespace credbroker::control
