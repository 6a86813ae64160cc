#include "evidence/answers.h"

#include <set>

#include "evidence/values.h"
#include "fixture.h"

namespace credbroker::evidence {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_kit::IsOk;

// S1: every question once, in order, and each answer passes the linter.
TEST(AnswersTest, EveryQuestionIsAnsweredOnce) {
  ASSERT_OK_AND_ASSIGN(const Pack pack, MakePack(Fixture()));
  ASSERT_EQ(pack.answers.size(), 77u);
  std::set<Group> groups;
  for (std::size_t i = 0; i < pack.answers.size(); ++i) {
    EXPECT_EQ(pack.answers[i].id, "S" + std::to_string(i + 1));
    groups.insert(pack.answers[i].group);
  }
  EXPECT_EQ(groups.size(), 6u);
}

// Also when nothing is configured at all.
TEST(AnswersTest, AnEmptyInstallationHasAnswersToo) {
  Situation empty;
  empty.rules = policy::RuleSet::Empty();
  EXPECT_THAT(MakePack(empty), IsOk());
  EXPECT_EQ(ValueOf(empty, "S32"), "Nothing: no host is allowed.");
  EXPECT_EQ(ValueOf(empty, "S13"), "None is configured.");
}

TEST(AnswersTest, OperatorFieldsAreDeclaredOrUnknown) {
  Situation situation = Fixture();
  for (const char* id : {"S3", "S21", "S31", "S48", "S62", "S69"}) EXPECT_THAT(ValueOf(situation, id), HasSubstr("unknown (not declared)")) << id;
  situation.declared.by = "jo";
  situation.declared.on = "2027-01-01";
  situation.declared.fields["isolation.kind"] = "microvm";
  EXPECT_THAT(ValueOf(situation, "S3"), HasSubstr("kind: microvm (declared by jo on 2027-01-01, not verified by this product)"));
  EXPECT_THAT(ValueOf(situation, "S3"), HasSubstr("patched by: unknown (not declared)"));
  situation.declared.subprocessors = {"Example Ltd"};
  EXPECT_THAT(ValueOf(situation, "S48"), HasSubstr("Example Ltd (declared by jo"));
}

// S1: change a setting and only the right answers change.
TEST(AnswersTest, ChangingOneSettingChangesItsAnswersOnly) {
  const auto changed = [](const Situation& after) {
    const auto before = MakePack(Fixture()), now = MakePack(after);
    std::string ids;
    for (std::size_t i = 0; i < before->answers.size(); ++i) {
      if (before->answers[i].value != now->answers[i].value) ids += before->answers[i].id + " ";
    }
    return ids;
  };
  Situation sync = Fixture();
  sync.durability = "sync";
  EXPECT_EQ(changed(sync), "S2 S4 S28 ");
  Situation sockets = Fixture();
  sockets.session_sockets = true;
  EXPECT_EQ(changed(sockets), "S2 S4 S14 S70 ");
  Situation egress = Fixture();
  egress.rules = Rules(std::string(kPolicy) + "      - {hosts: [more.example]}\n");
  EXPECT_EQ(changed(egress), "S2 S4 S7 S8 S32 S69 ");
}

// S33: the wanted sentence holds only while it is true.
TEST(AnswersTest, TheSecretsRowWeakensByItself) {
  Situation situation = Fixture();
  EXPECT_EQ(ValueOf(situation, "S33"), "credential proxy, exceptions listed");
  situation.rules = Rules(std::string(kPolicy) + std::string(kTunnel));
  EXPECT_EQ(ValueOf(situation, "S33"), "credential proxy, but bytes pass unread under: EX-7");
  EXPECT_THAT(ValueOf(situation, "S12"), HasSubstr("EX-7"));
  EXPECT_THAT(ValueOf(situation, "S8"), HasSubstr("pinned.example (exception EX-7; NOT inspected)"));
  situation.now = absl::FromUnixSeconds(1'950'000'000);  // it has expired
  EXPECT_EQ(ValueOf(situation, "S33"), "credential proxy, exceptions listed");
  EXPECT_THAT(ValueOf(situation, "S13"), HasSubstr("EXPIRED and blocked"));
}

TEST(AnswersTest, GitAnswersHoldRefsAndFlags) {
  EXPECT_THAT(ValueOf(Fixture(), "S16"), HasSubstr("web on acme/web: refs/heads/agent/{session}/**; create allow, delete deny, force deny"));
  EXPECT_THAT(ValueOf(Fixture(), "S61"), HasSubstr("web on acme/web, API: write.issue"));
  EXPECT_THAT(ValueOf(Fixture(), "S17"), HasSubstr("No: no scope grants"));
}

// S55: a review holds for a year, and no review is none.
TEST(AnswersTest, AnswersTurnStale) {
  Situation situation = Fixture();
  const auto stale = [&] { return MakePack(situation)->stale; };
  EXPECT_TRUE(stale());
  situation.declared.fields = {{"reviewed_by", "sam"}, {"reviewed_at", "2026-06-01"}};
  EXPECT_FALSE(stale());
  situation.now += absl::Hours(24 * 200);
  EXPECT_TRUE(stale());
}

TEST(AnswersTest, APilotOfAnotherConfigurationIsStale) {
  Situation situation = Fixture();
  situation.pilot = PilotResult{.at = situation.now, .version = "0.1.0", .config_digest = situation.ConfigDigest(), .passed = true, .note = {}};
  EXPECT_EQ(MakePack(situation)->pilot, "passed on 2027-01-15T08:00:00Z");
  situation.durability = "sync";
  EXPECT_EQ(MakePack(situation)->pilot, "stale: passed on 2027-01-15T08:00:00Z");
}

// An admin's text is text in every format.
TEST(AnswersTest, NamesCannotBecomeMarkup) {
  Situation situation = Fixture();
  situation.declared.by = "<script>alert(1)</script>";
  situation.declared.fields["owner_of_isolation"] = "a | b <img>";
  ASSERT_OK_AND_ASSIGN(const Pack pack, MakePack(situation));
  EXPECT_THAT(Html(pack), Not(HasSubstr("<script")));
  EXPECT_THAT(Html(pack), HasSubstr("a | b &lt;img&gt;"));
  EXPECT_THAT(Markdown(pack), HasSubstr("a \\| b \\<img\\>"));
}

TEST(AnswersTest, SelectionKnowsItsWords) {
  ASSERT_OK_AND_ASSIGN(const Pack pack, MakePack(Fixture()));
  ASSERT_OK_AND_ASSIGN(const Pack git, Selected(pack, "git", ""));
  for (const Answer& answer : git.answers) EXPECT_EQ(answer.group, Group::kGit);
  EXPECT_GT(git.answers.size(), 5u);
  EXPECT_THAT(Selected(pack, "gti", ""), testing_kit::FailsWith(base::ErrorCode::kBadArgument));
  EXPECT_THAT(Selected(pack, "", "everybody"), testing_kit::FailsWith(base::ErrorCode::kBadArgument));
}

}  // namespace
}  // namespace credbroker::evidence
