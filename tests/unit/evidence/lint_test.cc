#include "evidence/lint.h"

#include "kit/status_matchers.h"

namespace credbroker::evidence {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

Answer Good() {
  Answer answer;
  answer.id = "S7";
  answer.kind = Kind::kEnforced;
  answer.value = "Denied, before any name is looked up.";
  answer.docs = "README.md#a-first-policy";
  answer.test = "e2e/test_refusals.py test_x";
  return answer;
}

// S26: specific and documented passes; each other row has its sample.
TEST(LintTest, EachRowOfTheTableHasAFailingSample) {
  EXPECT_THAT(Lint(Good()), IsOk());
  Answer undocumented = Good();
  undocumented.docs.clear();
  EXPECT_THAT(Lint(undocumented), FailsWith(ErrorCode::kAnswerRefused)) << "specific, undocumented";
  Answer untested = Good();
  untested.test.clear();
  EXPECT_THAT(Lint(untested), FailsWith(ErrorCode::kAnswerRefused));
  untested.kind = Kind::kAnswered;
  EXPECT_THAT(Lint(untested), IsOk());
  for (const char* vague : {"We follow industry standard practice.", "Robust isolation.", "Secured as needed.", "Logs, etc."}) {
    Answer answer = Good();
    answer.value = vague;
    EXPECT_THAT(Lint(answer), FailsWith(ErrorCode::kAnswerRefused)) << vague;
  }
  for (const char* empty : {"", "n.a.", "N/A", "not applicable"}) {
    Answer answer = Good();
    answer.value = empty;
    EXPECT_THAT(Lint(answer), FailsWith(ErrorCode::kAnswerRefused)) << empty;
  }
  Answer reason = Good();
  reason.value = "not applicable: no transcript passes this product.";
  EXPECT_THAT(Lint(reason), IsOk());
  Answer claim = Good();
  claim.value = "The hosts are ISO 27001 certified.";
  EXPECT_THAT(Lint(claim), FailsWith(ErrorCode::kAnswerRefused));
}

TEST(LintTest, WordsAreWords) {
  Answer named = Good();
  named.value = "named branches only";
  EXPECT_THAT(Lint(named), IsOk()) << "begins as n.a. does";
  EXPECT_EQ(VagueWord("a robustness test"), "") << "part of another word";
  EXPECT_EQ(VagueWord("It is ROBUST."), "robust");
  EXPECT_FALSE(ClaimsCertification("uncertified"));
}

}  // namespace
}  // namespace credbroker::evidence
