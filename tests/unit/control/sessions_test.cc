#include "control/sessions.h"

#include "fixture.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing::HasSubstr;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class SessionsTest : public CoreTest {};

TEST_F(SessionsTest, OpensUnderItsScopesAndHandsOutOneToken) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  EXPECT_EQ(opened.session.state, store::SessionState::kAgent);
  EXPECT_EQ(opened.session.expires_at, clock_.Now() + absl::Hours(2));
  EXPECT_EQ(opened.session.idle_limit, absl::Minutes(20));
  EXPECT_EQ(opened.token.expires_at, clock_.Now() + absl::Minutes(15));
  EXPECT_EQ(Records("session").size(), 1u);
  EXPECT_EQ(Records("issue").size(), 1u);
  EXPECT_THAT(Records("issue")[0], HasSubstr(opened.token.id));
  EXPECT_THAT(Records("issue")[0], HasSubstr("T-1"));
}

TEST_F(SessionsTest, RefusesWhatTheScopesDoNotName) {
  const auto open = [&](std::string requester, std::vector<std::string> scopes) {
    return core_->sessions().Open(Admin(), {.requester = std::move(requester), .scopes = std::move(scopes)}).status();
  };
  EXPECT_THAT(open("team-docs", {"web"}), FailsWith(ErrorCode::kRequesterNotAllowed));
  EXPECT_THAT(open("team-web", {"web", "docs"}), FailsWith(ErrorCode::kRequesterNotAllowed));
  EXPECT_THAT(open("team-web", {"nowhere"}), FailsWith(ErrorCode::kScopeNotFound));
  EXPECT_THAT(open("team-web", {}), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(open("", {"web"}), FailsWith(ErrorCode::kBadArgument));
  EXPECT_TRUE(Records("issue").empty());
}

TEST_F(SessionsTest, ARequestersAccessOpensForItselfOnly) {
  const Caller other{.roles = Roles::Of(Role::kRequester), .actor = "access:x", .requester = "team-docs"};
  EXPECT_THAT(core_->sessions().Open(other, {.requester = "team-web", .scopes = {"web"}}),
              FailsWith(ErrorCode::kRequesterNotAllowed));
  ASSERT_THAT(Open(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto seen, core_->sessions().List(other, true));
  EXPECT_TRUE(seen.empty());
}

TEST_F(SessionsTest, NobodyRaisesTheCeiling) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken wide, Open(absl::Hours(100)));
  EXPECT_EQ(wide.session.expires_at, clock_.Now() + absl::Hours(2));
  ASSERT_OK_AND_ASSIGN(const SessionAndToken tight, Open(absl::Minutes(5)));
  EXPECT_EQ(tight.session.expires_at, clock_.Now() + absl::Minutes(5));
  EXPECT_EQ(tight.token.expires_at, clock_.Now() + absl::Minutes(5));
  ASSERT_OK_AND_ASSIGN(const IssuedToken longest,
                       core_->tokens().Mint(Admin(), wide.session.id, {.life = absl::Hours(10)}));
  EXPECT_LE(longest.expires_at, clock_.Now() + kTokenCeiling);
}

// S6: at the limit less a second all is well, at the limit it is over; the sweep only writes down what is so already.
TEST_F(SessionsTest, EndsAtItsCeiling) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open(absl::Minutes(10)));
  const std::string text = TextOf(opened.token);
  clock_.Advance(absl::Minutes(10) - absl::Seconds(1));
  EXPECT_EQ(core_->sessions().Sweep(), 0);
  EXPECT_THAT(core_->tokens().VerifyHolder(text), IsOk());
  clock_.Advance(absl::Seconds(2));
  EXPECT_FALSE(core_->tokens().VerifyHolder(text).ok());
  EXPECT_THAT(core_->tokens().Mint(Admin(), opened.session.id, {}), FailsWith(ErrorCode::kSessionClosed));
  EXPECT_EQ(core_->sessions().Sweep(), 1);
  EXPECT_EQ(core_->sessions().Sweep(), 0);
  ASSERT_OK_AND_ASSIGN(const SessionAndTokens after, core_->sessions().Get(Admin(), opened.session.id));
  EXPECT_EQ(after.session.state, store::SessionState::kClosed);
  EXPECT_EQ(after.session.close_reason, "expired");
  EXPECT_TRUE(after.tokens.front().revoked_at.has_value());
}

TEST_F(SessionsTest, EndsWhenIdleAndUseKeepsItAlive) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  clock_.Advance(absl::Minutes(20) - absl::Seconds(1));
  EXPECT_EQ(core_->sessions().Sweep(), 0);
  core_->sessions().Touch(opened.session.id,
                          clock_.Now() + absl::Hours(50));  // an edge whose clock is ahead gains nothing
  clock_.Advance(absl::Minutes(20) - absl::Seconds(1));
  EXPECT_EQ(core_->sessions().Sweep(), 0);
  clock_.Advance(absl::Seconds(2));
  EXPECT_THAT(core_->tokens().Mint(Admin(), opened.session.id, {}), FailsWith(ErrorCode::kSessionClosed));
  EXPECT_EQ(core_->sessions().Sweep(), 1);
  ASSERT_OK_AND_ASSIGN(const SessionAndTokens after, core_->sessions().Get(Admin(), opened.session.id));
  EXPECT_EQ(after.session.close_reason, "idle");
}

TEST_F(SessionsTest, LeavingSetupKillsItsTokens) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open(absl::ZeroDuration(), model::Phase::kSetup));
  ASSERT_OK_AND_ASSIGN(const IssuedToken second, core_->tokens().Mint(Admin(), opened.session.id, {}));
  ASSERT_OK_AND_ASSIGN(const SessionAndToken moved,
                       core_->sessions().SetPhase(Admin(), opened.session.id, model::Phase::kAgent));
  EXPECT_THAT(moved.revoked_tokens, testing::UnorderedElementsAre(opened.token.id, second.id));
  EXPECT_THAT(core_->tokens().VerifyHolder(TextOf(opened.token)), FailsWith(ErrorCode::kTokenRevoked));
  EXPECT_THAT(core_->tokens().VerifyHolder(TextOf(second)), FailsWith(ErrorCode::kTokenRevoked));
  ASSERT_OK_AND_ASSIGN(const token::Claims claims, core_->tokens().VerifyHolder(TextOf(moved.token)));
  EXPECT_EQ(claims.phase, model::Phase::kAgent);
  EXPECT_THAT(core_->sessions().SetPhase(Admin(), opened.session.id, model::Phase::kSetup),
              FailsWith(ErrorCode::kPhaseStep));
  EXPECT_THAT(core_->sessions().SetPhase(Admin(), opened.session.id, model::Phase::kAgent),
              FailsWith(ErrorCode::kPhaseStep));
}

TEST_F(SessionsTest, ClosingListsWhatItRevokedOnce) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(const IssuedToken child, core_->tokens().Derive(Holder(opened.token), {}));
  ASSERT_OK_AND_ASSIGN(const ClosedSession closed, core_->sessions().Close(Admin(), opened.session.id, "done"));
  EXPECT_THAT(closed.revoked_tokens, testing::UnorderedElementsAre(opened.token.id, child.id));
  EXPECT_EQ(Records("revoke").size(), 3u);  // the session and two tokens
  ASSERT_OK_AND_ASSIGN(const ClosedSession again, core_->sessions().Close(Admin(), opened.session.id, "again"));
  EXPECT_TRUE(again.revoked_tokens.empty());
  EXPECT_EQ(again.session.close_reason, "done");
  EXPECT_THAT(core_->tokens().Mint(Admin(), opened.session.id, {}), FailsWith(ErrorCode::kSessionClosed));
  EXPECT_THAT(core_->sessions().Close(Admin(), "s-none", ""), FailsWith(ErrorCode::kSessionNotFound));
}

TEST_F(SessionsTest, TokensOfOneSessionDieWithItAlone) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken one, Open());
  ASSERT_OK_AND_ASSIGN(const SessionAndToken two, Open());
  ASSERT_THAT(core_->sessions().Close(Admin(), one.session.id, ""), IsOk());
  EXPECT_FALSE(core_->tokens().VerifyHolder(TextOf(one.token)).ok());
  EXPECT_THAT(core_->tokens().VerifyHolder(TextOf(two.token)), IsOk());
}

TEST_F(SessionsTest, WithoutALedgerNothingOpensButClosingGoesOn) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open(absl::ZeroDuration(), model::Phase::kSetup));
  BreakLedger();
  EXPECT_THAT(Open(), FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_THAT(core_->sessions().SetPhase(Admin(), opened.session.id, model::Phase::kAgent),
              FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_THAT(core_->tokens().VerifyHolder(TextOf(opened.token)), IsOk())
      << "a phase that did not change kills nothing";
  ASSERT_OK_AND_ASSIGN(const auto sessions, core_->sessions().List(Admin(), true));
  EXPECT_EQ(sessions.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const ClosedSession closed, core_->sessions().Close(Admin(), opened.session.id, ""));
  EXPECT_EQ(closed.revoked_tokens.size(), 1u);
  EXPECT_GT(core_->recorder().owed(), 0u);
}

TEST_F(SessionsTest, SurvivesARestart) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken kept, Open());
  ASSERT_OK_AND_ASSIGN(const SessionAndToken closed, Open());
  ASSERT_THAT(core_->sessions().Close(Admin(), closed.session.id, ""), IsOk());
  Reopen();
  EXPECT_THAT(core_->tokens().VerifyHolder(TextOf(kept.token)), IsOk());
  EXPECT_THAT(core_->tokens().VerifyHolder(TextOf(closed.token)), FailsWith(ErrorCode::kTokenRevoked));
  EXPECT_EQ(core_->rules().Get()->version(), 1);
}

}  // namespace
}  // namespace credbroker::control
