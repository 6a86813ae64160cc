#include <functional>
#include <string>
#include <vector>

#include "base/str.h"
#include "fixture.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class CapsTest : public CoreTest {
 protected:
  absl::Status Ask(std::size_t scopes, std::size_t ticket) {
    SessionWish wish{.requester = "team-web", .ticket = std::string(ticket, 't')};
    for (std::size_t i = 0; i < scopes; ++i) wish.scopes.push_back(i == 0 ? "web" : base::StrCat("none-", i));
    return core_->sessions().Open(Admin(), wish).status();
  }
};

TEST_F(CapsTest, ASessionHasSixteenScopesAndAShortTicket) {
  EXPECT_THAT(Ask(16, 10), FailsWith(ErrorCode::kScopeNotFound)) << "counted as few enough, then looked up";
  EXPECT_THAT(Ask(17, 10), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(Ask(1, 200), IsOk());
  EXPECT_THAT(Ask(1, 201), FailsWith(ErrorCode::kBadArgument));
}

TEST_F(CapsTest, ReasonsAreCut) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(const ClosedSession closed, core_->sessions().Close(Admin(), opened.session.id, std::string(5000, 'r')));
  EXPECT_GE(closed.session.close_reason.size(), 200u);
  EXPECT_LE(closed.session.close_reason.size(), 224u) << "and a note of its length";
}

TEST_F(CapsTest, ACommentIsShort) {
  const auto apply = [&](std::size_t bytes) {
    return core_->policies().Apply(FixturePolicy(), DryRun::kYes, {.actor = "uid:0", .reason = std::string(bytes, 'c')}).status();
  };
  EXPECT_THAT(apply(500), IsOk());
  EXPECT_THAT(apply(501), FailsWith(ErrorCode::kBadArgument));
}

TEST_F(CapsTest, ACallAsksTenThousandQuestions) {
  std::vector<policy::Question> questions(10'000, {.method = "GET", .url = "https://elsewhere.example/"});
  EXPECT_THAT(core_->policies().Explain(Admin(), AskScope{"web"}, questions), IsOk());
  questions.push_back(questions.front());
  EXPECT_THAT(core_->policies().Explain(Admin(), AskScope{"web"}, questions), FailsWith(ErrorCode::kTooLarge));
}

TEST_F(CapsTest, EightTailsRunAtOnce) {
  std::vector<absl::Status> ended;
  int depth = 1;
  const auto emit = [](std::string_view) { return true; };
  const std::function<bool()> deeper = [&] {  // asked by each tail while it runs: starts the next one inside, then ends it
    if (++depth <= 20) ended.push_back(core_->audits().Tail({.limit = 1}, deeper, emit));
    return true;
  };
  EXPECT_THAT(core_->audits().Tail({.limit = 1}, deeper, emit), IsOk());
  ASSERT_EQ(ended.size(), 8u);
  EXPECT_THAT(ended.front(), FailsWith(ErrorCode::kOverloaded)) << "the ninth";
  for (std::size_t i = 1; i < ended.size(); ++i) EXPECT_THAT(ended[i], IsOk());
}

}  // namespace
}  // namespace credbroker::control
