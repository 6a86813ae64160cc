#include "edge/unsent_uses.h"

#include <gtest/gtest.h>

#include "base/str.h"

namespace credbroker::edge {
namespace {

const absl::Time kNoon = absl::FromUnixSeconds(1'800'000'000);

gate::Gate::Uses One(const std::string& exception, int64_t count) {
  gate::Gate::Uses uses;
  uses.sessions["s-1"] = {kNoon, 1};
  uses.exceptions[exception] = {kNoon, count};
  return uses;
}

TEST(UnsentUsesTest, AFailedReportIsSaidAgainWithWhatCameMeanwhile) {
  UnsentUses unsent;
  EXPECT_TRUE(unsent.empty());
  unsent.Add(One("EX-1", 3));
  EXPECT_EQ(unsent.Batch().exceptions.at("EX-1").count, 3);  // this one is lost
  unsent.Add(One("EX-1", 2));
  const gate::Gate::Uses arrived = unsent.Batch();
  EXPECT_EQ(arrived.exceptions.at("EX-1").count, 5);
  EXPECT_EQ(arrived.sessions.at("s-1").last, kNoon);
  unsent.Add(One("EX-1", 4));  // while the report was on its way
  unsent.Forget(arrived);
  const gate::Gate::Uses next = unsent.Batch();
  EXPECT_EQ(next.exceptions.at("EX-1").count, 4);
  unsent.Forget(next);
  EXPECT_TRUE(unsent.empty());
}

TEST(UnsentUsesTest, AReportCarriesNoMoreThanTheBrokerTakesAndLosesNothing) {
  UnsentUses unsent;
  gate::Gate::Uses uses;
  for (std::size_t i = 0; i < UnsentUses::kMaxReported + 5; ++i) uses.sessions[base::StrCat("s-", i)] = {kNoon, 1};
  uses.exceptions["EX-1"] = {kNoon, 2 * UnsentUses::kMaxCount + 1};
  unsent.Add(uses);
  std::size_t sessions = 0;
  int64_t count = 0;
  for (int reports = 0; !unsent.empty(); ++reports) {
    ASSERT_LT(reports, 10);
    const gate::Gate::Uses batch = unsent.Batch();
    EXPECT_LE(batch.sessions.size(), UnsentUses::kMaxReported);
    sessions += batch.sessions.size();
    for (const auto& [id, use] : batch.exceptions) {
      EXPECT_LE(use.count, UnsentUses::kMaxCount);
      count += use.count;
    }
    unsent.Forget(batch);
  }
  EXPECT_EQ(sessions, UnsentUses::kMaxReported + 5);
  EXPECT_EQ(count, 2 * UnsentUses::kMaxCount + 1);
}

TEST(UnsentUsesTest, KeepsABoundedNumberOfNames) {
  UnsentUses unsent;
  gate::Gate::Uses uses;
  for (std::size_t i = 0; i < UnsentUses::kMaxKept + 100; ++i) uses.sessions[base::StrCat("s-", i)] = {kNoon, 1};
  unsent.Add(uses);
  std::size_t kept = 0;
  while (!unsent.empty()) {
    const gate::Gate::Uses batch = unsent.Batch();
    kept += batch.sessions.size();
    unsent.Forget(batch);
  }
  EXPECT_EQ(kept, UnsentUses::kMaxKept);
}

}  // namespace
}  // namespace credbroker::edge
