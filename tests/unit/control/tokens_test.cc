#include "control/tokens.h"

#include <thread>
#include <vector>

#include "control/whoami.h"
#include "fixture.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing::ElementsAre;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class TokensTest : public CoreTest {
 protected:
  absl::StatusOr<Revoked> Revoke(store::RevocationKind kind, std::string value) {
    return core_->tokens().Revoke(Admin(), RevokeTarget{kind, std::move(value)}, "test");
  }
  absl::Status Check(const IssuedToken& token) { return core_->tokens().VerifyHolder(TextOf(token)).status(); }
};

TEST_F(TokensTest, NoRecordNoToken) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  const Caller holder = Holder(opened.token);
  BreakLedger();
  EXPECT_THAT(core_->tokens().Mint(Admin(), opened.session.id, {}), FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_THAT(core_->tokens().Derive(holder, {}), FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_THAT(core_->tokens().Renew(holder, absl::ZeroDuration()), FailsWith(ErrorCode::kLedgerUnavailable));
  ASSERT_OK_AND_ASSIGN(const SessionAndTokens after, core_->sessions().Get(Admin(), opened.session.id));
  EXPECT_EQ(after.tokens.size(), 1u) << "not even a row";
}

TEST_F(TokensTest, RevocationGoesOnWithoutALedger) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  BreakLedger();
  ASSERT_OK_AND_ASSIGN(const Revoked revoked, Revoke(store::RevocationKind::kToken, opened.token.id));
  EXPECT_THAT(revoked.tokens, ElementsAre(opened.token.id));
  EXPECT_THAT(Check(opened.token), FailsWith(ErrorCode::kTokenRevoked));
}

TEST_F(TokensTest, ChildIsNeverWiderAndDiesWithItsParent) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(
      const IssuedToken child,
      core_->tokens().Derive(Holder(opened.token), {.life = absl::Hours(5), .narrowing = {.methods = {"get"}}}));
  EXPECT_EQ(child.expires_at, opened.token.expires_at);
  ASSERT_OK_AND_ASSIGN(const token::Claims claims, core_->tokens().VerifyHolder(TextOf(child)));
  EXPECT_EQ(claims.parent_id, opened.token.id);
  EXPECT_THAT(claims.narrowing.methods, ElementsAre("GET"));
  EXPECT_THAT(core_->tokens().Derive(Holder(child), {.narrowing = {.methods = {"POST"}}}),
              FailsWith(ErrorCode::kWiderThanParent));
  ASSERT_OK_AND_ASSIGN(const IssuedToken grandchild, core_->tokens().Derive(Holder(child), {}));
  ASSERT_OK_AND_ASSIGN(const Revoked revoked, Revoke(store::RevocationKind::kToken, opened.token.id));
  EXPECT_THAT(revoked.tokens, testing::UnorderedElementsAre(opened.token.id, child.id, grandchild.id));
  EXPECT_THAT(Check(grandchild), FailsWith(ErrorCode::kTokenRevoked));
}

TEST_F(TokensTest, RenewalKeepsTheBindingAndNeverPassesTheSession) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open(absl::Minutes(20)));
  clock_.Advance(absl::Minutes(14));
  ASSERT_OK_AND_ASSIGN(const IssuedToken renewed, core_->tokens().Renew(Holder(opened.token), absl::Minutes(60)));
  EXPECT_EQ(renewed.expires_at, opened.session.expires_at);
  EXPECT_THAT(Check(opened.token), IsOk()) << "the old one lives until its own end";
  clock_.Advance(absl::Minutes(6) - absl::Seconds(1));
  EXPECT_THAT(Check(renewed), IsOk());
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Check(renewed), FailsWith(ErrorCode::kTokenExpired));
}

TEST_F(TokensTest, ADerivedTokenIsNotRenewedPastItsParent) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(const IssuedToken child,
                       core_->tokens().Derive(Holder(opened.token), {.life = absl::Minutes(5)}));
  ASSERT_OK_AND_ASSIGN(const IssuedToken renewed, core_->tokens().Renew(Holder(child), absl::Minutes(15)));
  clock_.Advance(absl::Minutes(4));
  ASSERT_OK_AND_ASSIGN(const IssuedToken again, core_->tokens().Renew(Holder(renewed), absl::Minutes(15)));
  EXPECT_EQ(again.expires_at, opened.token.expires_at);
  ASSERT_OK_AND_ASSIGN(const IssuedToken own, core_->tokens().Renew(Holder(opened.token), absl::ZeroDuration()));
  EXPECT_GT(own.expires_at, opened.token.expires_at) << "the session's own token may be renewed past its end";
}

TEST_F(TokensTest, ARenewedTokenFallsWithTheOneItRenews) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(const IssuedToken renewed, core_->tokens().Renew(Holder(opened.token), absl::ZeroDuration()));
  ASSERT_THAT(Revoke(store::RevocationKind::kToken, opened.token.id), IsOk());
  EXPECT_THAT(Check(renewed), FailsWith(ErrorCode::kTokenRevoked));
}

TEST_F(TokensTest, RenewalIsUnderTodaysPolicy) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  const auto bare = PolicyOf("apiVersion: credbroker/v1\nscopes:\n  docs: {description: d, requesters: [team-docs]}\n");
  ASSERT_THAT(core_->policies().Apply(bare, DryRun::kNo, {.actor = "uid:0"}), IsOk());
  EXPECT_THAT(core_->tokens().Renew(Holder(opened.token), absl::ZeroDuration()), FailsWith(ErrorCode::kScopeNotFound));
}

TEST_F(TokensTest, AHolderRevokesItselfAndItsChildrenOnly) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(const SessionAndToken other, Open());
  ASSERT_OK_AND_ASSIGN(const IssuedToken child, core_->tokens().Derive(Holder(opened.token), {}));
  const Caller holder = Holder(opened.token);
  const auto revoke = [&](store::RevocationKind kind, std::string value) {
    return core_->tokens().Revoke(holder, RevokeTarget{kind, std::move(value)}, "").status();
  };
  EXPECT_THAT(revoke(store::RevocationKind::kToken, other.token.id), FailsWith(ErrorCode::kCallerNotAllowed));
  EXPECT_THAT(revoke(store::RevocationKind::kToken, "t-none"), FailsWith(ErrorCode::kCallerNotAllowed));
  EXPECT_THAT(revoke(store::RevocationKind::kSession, opened.session.id), FailsWith(ErrorCode::kCallerNotAllowed));
  EXPECT_THAT(revoke(store::RevocationKind::kAll, ""), FailsWith(ErrorCode::kCallerNotAllowed));
  EXPECT_THAT(revoke(store::RevocationKind::kToken, child.id), IsOk());
  EXPECT_THAT(core_->tokens().Derive(Holder(child), {}), FailsWith(ErrorCode::kTokenRevoked));
  EXPECT_THAT(core_->tokens().Revoke(holder, std::nullopt, ""), IsOk());
  EXPECT_THAT(Check(opened.token), FailsWith(ErrorCode::kTokenRevoked));
  EXPECT_THAT(Check(other.token), IsOk());
}

TEST_F(TokensTest, RevokesByScopeSessionAndAll) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken web, Open());
  ASSERT_OK_AND_ASSIGN(const SessionAndToken docs,
                       core_->sessions().Open(Admin(), {.requester = "team-docs", .scopes = {"docs"}}));
  ASSERT_THAT(Revoke(store::RevocationKind::kScope, "web"), IsOk());
  EXPECT_THAT(Check(web.token), FailsWith(ErrorCode::kTokenRevoked));
  EXPECT_THAT(Check(docs.token), IsOk());
  ASSERT_OK_AND_ASSIGN(const IssuedToken fresh, core_->tokens().Mint(Admin(), web.session.id, {}));
  ASSERT_OK_AND_ASSIGN(const token::Claims claims, core_->tokens().VerifyHolder(TextOf(fresh)));
  EXPECT_GT(claims.issued_at, clock_.Now()) << "an edge tells it from the revoked ones by its time of issue";
  ASSERT_THAT(Revoke(store::RevocationKind::kSession, web.session.id), IsOk());
  EXPECT_THAT(core_->tokens().Mint(Admin(), web.session.id, {}), FailsWith(ErrorCode::kSessionClosed));
  ASSERT_THAT(Revoke(store::RevocationKind::kAll, ""), IsOk());
  EXPECT_THAT(Check(docs.token), FailsWith(ErrorCode::kTokenRevoked));
  EXPECT_THAT(Revoke(store::RevocationKind::kScope, ""), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(Revoke(store::RevocationKind::kToken, "t-none"), FailsWith(ErrorCode::kTokenNotFound));
}

TEST_F(TokensTest, ARefusedRepositoryStaysRefusedForRenewals) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_THAT(Revoke(store::RevocationKind::kRepository, "Acme/Web.git"), IsOk());
  EXPECT_THAT(Check(opened.token), IsOk()) << "the token lives, but not for that repository";
  clock_.Advance(absl::Minutes(1));
  ASSERT_OK_AND_ASSIGN(const IssuedToken renewed, core_->tokens().Renew(Holder(opened.token), absl::ZeroDuration()));
  ASSERT_OK_AND_ASSIGN(const IssuedToken child, core_->tokens().Derive(Holder(renewed), {}));
  ASSERT_OK_AND_ASSIGN(const IssuedToken fresh, core_->tokens().Mint(Admin(), opened.session.id, {}));
  const auto repositories = [&](const IssuedToken& token) {
    const auto claims = core_->tokens().VerifyHolder(TextOf(token));
    EXPECT_THAT(claims, IsOk());
    const auto who = DescribeHolder(*claims, core_->store(), core_->rules(), core_->revocations(), clock_.Now());
    EXPECT_THAT(who, IsOk());
    return who->outline.repositories.size();
  };
  EXPECT_EQ(repositories(opened.token), 0u);
  EXPECT_EQ(repositories(renewed), 0u);
  EXPECT_EQ(repositories(child), 0u);
  EXPECT_EQ(repositories(fresh), 1u) << "the session's owner decided anew";
}

// Issuing and revoking in turns within one second: each revocation hits what was issued before it and nothing later.
TEST_F(TokensTest, EachRevocationInASecondHitsWhatWasIssuedBeforeIt) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  const auto refused = [&](absl::Time issued) {
    return core_->revocations().Refuses(store::RevocationKind::kCredential, "corp-bot", issued);
  };
  for (int round = 0; round < 8; ++round) {
    ASSERT_OK_AND_ASSIGN(const IssuedToken token, core_->tokens().Mint(Admin(), opened.session.id, {}));
    ASSERT_OK_AND_ASSIGN(const token::Claims claims, core_->tokens().VerifyHolder(TextOf(token)));
    EXPECT_FALSE(refused(claims.issued_at)) << round;
    ASSERT_THAT(Revoke(store::RevocationKind::kCredential, "corp-bot"), IsOk());
    EXPECT_TRUE(refused(claims.issued_at)) << round;
    clock_.Advance(absl::Milliseconds(20));
  }
}

TEST_F(TokensTest, WhoAmIShowsGrantsAndPlaceholders) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(const WhoAmI who, DescribeHolder(*Holder(opened.token).holder, core_->store(), core_->rules(),
                                                        core_->revocations(), clock_.Now()));
  ASSERT_EQ(who.outline.repositories.size(), 1u);
  EXPECT_THAT(who.outline.repositories[0].push_refs, ElementsAre("refs/heads/agent/" + opened.session.id + "/**"));
  EXPECT_TRUE(who.placeholders.contains("LLM_KEY"));
  EXPECT_TRUE(who.placeholders.contains("GH_TOKEN"));
  EXPECT_NE(who.placeholders.at("LLM_KEY"), "");
}

TEST_F(TokensTest, BadTextsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  EXPECT_THAT(core_->tokens().VerifyHolder(""), FailsWith(ErrorCode::kNoToken));
  EXPECT_THAT(core_->tokens().VerifyHolder("cbt_v4.public.x"), FailsWith(ErrorCode::kBadToken));
  std::string text = TextOf(opened.token);
  text[40] = text[40] == 'A' ? 'B' : 'A';
  EXPECT_THAT(core_->tokens().VerifyHolder(text), FailsWith(ErrorCode::kBadToken));
  EXPECT_THAT(core_->tokens().Mint(Admin(), opened.session.id, {.life = absl::Milliseconds(1)}),
              FailsWith(ErrorCode::kBadDuration));
  EXPECT_THAT(core_->tokens().Mint(Admin(), opened.session.id, {.narrowing = {.hosts = {"a..b"}}}),
              FailsWith(ErrorCode::kBadHost));
}

// B103: no locked database reaches a caller, however many mint and revoke at once.
TEST_F(TokensTest, ParallelMintsAndRevocationsAllSucceed) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  constexpr int kThreads = 6;
  constexpr int kRounds = 8;
  std::vector<absl::Status> failures(kThreads, absl::OkStatus());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds && failures[i].ok(); ++round) {
        auto token = core_->tokens().Mint(Admin(), opened.session.id, {});
        failures[i] = token.status();
        if (token.ok() && i % 3 == 0) failures[i] = Revoke(store::RevocationKind::kToken, token->id).status();
        if (i % 3 == 1) core_->sessions().Touch(opened.session.id, clock_.Now());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& failure : failures) EXPECT_THAT(failure, IsOk());
  ASSERT_OK_AND_ASSIGN(const SessionAndTokens after, core_->sessions().Get(Admin(), opened.session.id));
  EXPECT_EQ(after.tokens.size(), 1u + kThreads * kRounds);
  EXPECT_EQ(Records("issue").size(), after.tokens.size()) << "one record for each token that exists";
}

// S66: a session that closes while others mint leaves no token that lives.
TEST_F(TokensTest, ClosingBesideMintsLeavesNothingAlive) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (core_->tokens().Mint(Admin(), opened.session.id, {}).ok()) {
      }
    });
  }
  ASSERT_THAT(core_->sessions().Close(Admin(), opened.session.id, ""), IsOk());
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK_AND_ASSIGN(const SessionAndTokens after, core_->sessions().Get(Admin(), opened.session.id));
  for (const store::TokenRow& token : after.tokens) EXPECT_TRUE(token.revoked_at.has_value()) << token.id;
}

}  // namespace
}  // namespace credbroker::control
