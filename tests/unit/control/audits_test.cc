#include "control/audits.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "fixture.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing::HasSubstr;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class AuditsTest : public CoreTest {};

TEST_F(AuditsTest, ListsInLedgerOrderAndFilters) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken one, Open());
  ASSERT_THAT(Open(), IsOk());
  ASSERT_OK_AND_ASSIGN(const ListedRecords all, core_->audits().List({}));
  ASSERT_EQ(all.lines.size(), 6u);  // start, policy, two sessions with a token each
  EXPECT_THAT(all.lines[0], HasSubstr("\"broker-0\""));
  EXPECT_THAT(all.lines[5], HasSubstr("\"broker-5\""));
  EXPECT_TRUE(all.edges_current) << "there is no edge to wait for";
  ASSERT_OK_AND_ASSIGN(const ListedRecords own, core_->audits().List({.session = one.session.id}));
  EXPECT_EQ(own.lines.size(), 2u);
}

TEST_F(AuditsTest, GetsOneRecordById) {
  ASSERT_OK_AND_ASSIGN(const auto lines, core_->audits().Get("broker-1"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("policy.apply"));
  EXPECT_THAT(core_->audits().Get("broker-999"), FailsWith(ErrorCode::kRecordNotFound));
  EXPECT_THAT(core_->audits().Get("r-none"), FailsWith(ErrorCode::kRecordNotFound));
  EXPECT_THAT(core_->audits().Get(""), FailsWith(ErrorCode::kRecordNotFound));
}

TEST_F(AuditsTest, TailGivesWhatIsThereAndWhatComesOnce) {
  std::vector<std::string> seen;
  std::thread opener;
  const auto emit = [&](std::string_view line) {
    seen.emplace_back(line);
    if (seen.size() == 2) opener = std::thread([&] { EXPECT_THAT(Open(), IsOk()); });
    return seen.size() < 4;
  };
  ASSERT_THAT(core_->audits().Tail(
                  {.limit = 2}, [] { return false; }, emit),
              IsOk());
  opener.join();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_THAT(seen[1], HasSubstr("\"broker-1\""));
  EXPECT_THAT(seen[2], HasSubstr("\"broker-2\""));
  EXPECT_THAT(seen[3], HasSubstr("\"broker-3\""));
}

TEST_F(AuditsTest, VerifiesAndNamesAnEdit) {
  ASSERT_OK_AND_ASSIGN(const auto checkpoints, core_->audits().Checkpoints());
  ASSERT_EQ(checkpoints.size(), 1u);
  EXPECT_EQ(checkpoints[0].place.name, "broker");
  EXPECT_THAT(checkpoints[0].note, HasSubstr(core_->keys().ledger_origin()));
  ASSERT_EQ(core_->audits().Verify().size(), 1u);
  EXPECT_TRUE(core_->audits().Verify()[0].report.whole());
  const std::string path = core_->ledger().folder() + "/entries/00000000000000000000.jsonl";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(30);
  file.put('~');
  file.close();
  const audit::VerifyReport report = core_->audits().Verify()[0].report;
  EXPECT_FALSE(report.whole());
  EXPECT_EQ(report.entry, std::optional<uint64_t>(0));
}

TEST_F(AuditsTest, FoldersArePrivate) {
  const std::string data = folder_.path() + "/data";
  for (const char* name : {"store", "keys", "ledger", "archive", "pki", "admin"}) {
    const auto mode = std::filesystem::status(data + "/" + name).permissions();
    EXPECT_EQ(mode & std::filesystem::perms(0077), std::filesystem::perms::none) << name;
  }
  EXPECT_EQ(std::filesystem::status(data).permissions(), std::filesystem::perms(0711));
  EXPECT_EQ(std::filesystem::status(data + "/keys/master.key").permissions(), std::filesystem::perms(0600));
}

}  // namespace
}  // namespace credbroker::control
