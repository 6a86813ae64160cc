#include <optional>
#include <string>
#include <vector>

#include "crypto/sign.h"
#include "gate/callers.h"
#include "gate/rate.h"
#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"
#include "token/mint/mint.h"

namespace credbroker::gate {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class CallersTest : public testing::Test {
 protected:
  void SetUp() override {
    state_.verifier = std::make_shared<token::Verifier>(token::KeySet({minter_.public_key()}), "edge");
    state_.revocations = std::make_shared<RevocationSet>();
  }
  std::string Token(const std::string& id) {
    token::Claims claims;
    claims.id = id;
    claims.session = "s-1";
    claims.requester = "team-web";
    claims.issued_at = claims.not_before = kNow;
    claims.expires_at = kNow + absl::Minutes(15);
    claims.scopes = {"web-agent"};
    const auto minted = minter_.Mint(claims);
    return std::string(minted->text.Reveal(base::SecretReveal{}));
  }

  token::Minter minter_{crypto::SigningKey::Generate(), "edge"};
  EdgeState state_;
};

// A full table is emptied: nobody is refused, each pays one verification.
TEST_F(CallersTest, KeepsSoManyAndServesTheOthersToo) {
  Callers callers(2);
  const std::string one = Token("t-1"), two = Token("t-2"), three = Token("t-3");
  ASSERT_OK_AND_ASSIGN(const auto first, callers.Find(one, state_, kNow));
  ASSERT_OK_AND_ASSIGN(const auto second, callers.Find(two, state_, kNow));
  ASSERT_OK_AND_ASSIGN(const auto again, callers.Find(one, state_, kNow));
  EXPECT_EQ(first, again);
  ASSERT_OK_AND_ASSIGN(const auto third, callers.Find(three, state_, kNow));
  EXPECT_EQ(third->grant.token_id, "t-3");
  ASSERT_OK_AND_ASSIGN(const auto anew, callers.Find(one, state_, kNow));
  EXPECT_NE(first, anew) << "it was verified anew";
  EXPECT_EQ(anew->grant.token_id, "t-1");
}

TEST_F(CallersTest, ATextThatNoTokenCanHaveIsNotLookedAt) {
  Callers callers(2);
  EXPECT_THAT(callers.Find(std::string(token::kMaxTokenText + 1, 'c'), state_, kNow), testing_kit::FailsWith(base::ErrorCode::kBadToken));
}

// A flood of names is refused rather than remembered; who has a bucket keeps it, and full buckets make room.
TEST(RateLimiterTest, AFullTableRefusesNewNamesUntilBucketsAreFullAgain) {
  RateLimiter limiter(2);
  absl::Duration now;
  EXPECT_TRUE(limiter.Take("a", 60, 10, now));
  EXPECT_TRUE(limiter.Take("b", 60, 10, now));
  EXPECT_FALSE(limiter.Take("c", 60, 10, now));
  EXPECT_TRUE(limiter.Take("a", 60, 10, now));
  now += absl::Seconds(1);  // b is full again, a is not
  EXPECT_TRUE(limiter.Take("c", 60, 10, now));
  EXPECT_FALSE(limiter.Take("b", 60, 10, now));
}

}  // namespace
}  // namespace credbroker::gate
