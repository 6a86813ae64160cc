#include "gate/accounts.h"

#include <gtest/gtest.h>

namespace credbroker::gate {
namespace {

using base::ErrorCode;

constexpr model::UseLimits kNone;

TEST(AccountTest, TheMinuteIsSpentAndRefillsSteadily) {
  const model::UseLimits limits{.requests_per_minute = 60};
  Account account("a");
  absl::Duration now = absl::Hours(1);
  for (int i = 0; i < 60; ++i) ASSERT_EQ(account.Admit(limits, now), ErrorCode::kNone) << i;
  EXPECT_EQ(account.Admit(limits, now), ErrorCode::kRateLimited);
  now += absl::Milliseconds(999);
  EXPECT_EQ(account.Admit(limits, now), ErrorCode::kRateLimited);
  now += absl::Milliseconds(1);
  EXPECT_EQ(account.Admit(limits, now), ErrorCode::kNone);
  EXPECT_EQ(account.Admit(limits, now), ErrorCode::kRateLimited);
}

TEST(AccountTest, OnlySoManyRunAtOnce) {
  const model::UseLimits limits{.concurrent_requests = 2};
  Account account("a");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(account.Admit(limits, {}), ErrorCode::kNone);
    account.Begin();
  }
  EXPECT_EQ(account.Admit(limits, {}), ErrorCode::kTooManyRunning);
  account.End();
  EXPECT_EQ(account.Admit(limits, {}), ErrorCode::kNone);
}

TEST(AccountTest, BytesAddUpAndEndBothTransferAndRequests) {
  const model::UseLimits limits{.bytes = 100};
  Account account("a");
  ASSERT_EQ(account.Admit(limits, {}), ErrorCode::kNone);
  EXPECT_TRUE(account.Move(60, limits.bytes));
  EXPECT_TRUE(account.Move(40, limits.bytes)) << "to the limit, not past it";
  EXPECT_EQ(account.Admit(limits, {}), ErrorCode::kByteLimit);
  EXPECT_FALSE(account.Move(1, limits.bytes));
  EXPECT_EQ(account.Admit(kNone, {}), ErrorCode::kNone) << "the policy lifted the limit";
}

TEST(AccountsTest, EachScopeOfASessionCountsForItself) {
  Accounts accounts(8);
  Account* one = accounts.Of("s-1", "web", {});
  EXPECT_EQ(accounts.Of("s-1", "web", {}), one);
  EXPECT_NE(accounts.Of("s-1", "llm", {}), one);
  EXPECT_NE(accounts.Of("s-2", "web", {}), one);
  EXPECT_EQ(accounts.size(), 3u);
}

// A flood of sessions is refused rather than remembered; accounts at rest make room.
TEST(AccountsTest, AFullTableTakesNewSessionsWhenOthersRest) {
  const model::UseLimits limits{.requests_per_minute = 60};
  Accounts accounts(2);
  absl::Duration now = absl::Hours(1);
  Account* busy = accounts.Of("busy", "web", now);
  ASSERT_EQ(busy->Admit(limits, now), ErrorCode::kNone);
  busy->Begin();
  ASSERT_EQ(accounts.Of("spent", "web", now)->Admit(limits, now), ErrorCode::kNone);
  EXPECT_EQ(accounts.Of("new", "web", now), nullptr);
  now += absl::Seconds(1);  // the allowance of `spent` is whole again
  EXPECT_NE(accounts.Of("new", "web", now), nullptr);
  EXPECT_EQ(accounts.Of("busy", "web", now), busy) << "what runs stays";
}

TEST(AccountsTest, BytesAreRememberedAsLongAsASessionCanLive) {
  const model::UseLimits limits{.bytes = 100};
  Accounts accounts(8);
  absl::Duration now = absl::Hours(1);
  Account* account = accounts.Of("s-1", "web", now);
  ASSERT_EQ(account->Admit(limits, now), ErrorCode::kNone);
  account->Move(100, limits.bytes);
  now += Accounts::kMemory;
  accounts.ForgetRested(now);
  EXPECT_EQ(accounts.Of("s-1", "web", now)->Admit(limits, now), ErrorCode::kByteLimit);
  accounts.ForgetRested(now + absl::Seconds(1));
  EXPECT_EQ(accounts.size(), 0u);
}

}  // namespace
}  // namespace credbroker::gate
