#include "control/evidence.h"

#include "audit/note.h"
#include "fixture.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class EvidenceTest : public CoreTest {
 protected:
  Caller NewHolder() {
    const auto opened = Open();
    EXPECT_THAT(opened, IsOk());
    session_ = opened->session.id;
    return Holder(opened->token);
  }
  std::string session_;
};

TEST_F(EvidenceTest, AResultIsRecordedSignedAndKept) {
  const Caller holder = NewHolder();
  ASSERT_OK_AND_ASSIGN(const PilotOutcome outcome, SubmitPilot(*core_, holder, {{"S40", "secrets", "variables", true, "none", ""}}));
  EXPECT_TRUE(outcome.passed);
  ASSERT_OK_AND_ASSIGN(const audit::NoteKey key, audit::ParseNoteKey(outcome.key));
  ASSERT_OK_AND_ASSIGN(const audit::Note note, audit::OpenNote(outcome.note, {&key, 1}));
  EXPECT_THAT(note.text, testing::HasSubstr(session_));
  EXPECT_THAT(Records("admin").back(), testing::HasSubstr("pilot.result"));
  ASSERT_OK_AND_ASSIGN(const evidence::Situation situation, TakeSituation(*core_));
  ASSERT_TRUE(situation.pilot.has_value());
  EXPECT_EQ(situation.pilot->config_digest, situation.ConfigDigest());
}

// The word of a sandbox about a refusal is worth what the ledger says.
TEST_F(EvidenceTest, ARefusalThatNoLedgerHoldsFails) {
  const Caller holder = NewHolder();
  ASSERT_OK_AND_ASSIGN(const PilotOutcome outcome, SubmitPilot(*core_, holder, {{"S38", "egress", "blocked host", true, "", "r-aaaaaaaaaa-1"}}));
  EXPECT_FALSE(outcome.passed);
  EXPECT_FALSE(outcome.findings.front().confirmed);
}

TEST_F(EvidenceTest, FindingsAreBounded) {
  const Caller holder = NewHolder();
  EXPECT_THAT(SubmitPilot(*core_, holder, {}), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(SubmitPilot(*core_, holder, std::vector<Finding>(65)), FailsWith(ErrorCode::kTooLarge));
  EXPECT_THAT(SubmitPilot(*core_, holder, {{"S40", "secrets", "x", true, std::string(2001, 'x'), ""}}), FailsWith(ErrorCode::kTooLarge));
  EXPECT_THAT(SubmitPilot(*core_, Admin(), {{"S40", "secrets", "x", true, "", ""}}), testing::Not(IsOk())) << "an admin is in no sandbox";
}

TEST_F(EvidenceTest, NothingIsSignedThatIsNotRecorded) {
  const Caller holder = NewHolder();
  BreakLedger();
  EXPECT_THAT(SubmitPilot(*core_, holder, {{"S40", "secrets", "x", true, "", ""}}), FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_THAT(MakeBundle(*core_, {.actor = "uid:0"}), FailsWith(ErrorCode::kLedgerUnavailable));
}

}  // namespace
}  // namespace credbroker::control
