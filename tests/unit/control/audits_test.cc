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

// Runs an export to its end; gives the ids, and the last cursor.
std::vector<std::string> Exported(Audits& audits, const ExportOrder& order, std::string* cursor, absl::Status* status = nullptr) {
  std::vector<std::string> ids;
  const absl::Status ended = audits.Export(
      order, [] { return false; },
      [&](const ExportEvent& event) {
        if (cursor != nullptr) *cursor = event.cursor;
        const std::size_t at = event.json.find("\"id\":\"");
        if (at != std::string::npos) ids.push_back(event.json.substr(at + 6, event.json.find('"', at + 6) - at - 6));
        return true;
      });
  if (status != nullptr) *status = ended;
  return ids;
}

TEST_F(AuditsTest, AnExportGoesOnWhereItsCursorStands) {
  ASSERT_THAT(Open(), IsOk());
  std::string cursor;
  EXPECT_EQ(Exported(core_->audits(), {.max_records = 2}, &cursor), (std::vector<std::string>{"broker-0", "broker-1"}));
  EXPECT_EQ(cursor, "c1:broker=2");
  Reopen();  // whoever was restarted; stop and start are records of their own
  EXPECT_EQ(Exported(core_->audits(), {.cursor = cursor}, &cursor),
            (std::vector<std::string>{"broker-2", "broker-3", "broker-4", "broker-5"}));
  EXPECT_EQ(Exported(core_->audits(), {.cursor = cursor}, &cursor).size(), 0u);
  ASSERT_THAT(Open(), IsOk());
  EXPECT_EQ(Exported(core_->audits(), {.cursor = cursor}, &cursor).size(), 2u);
}

TEST_F(AuditsTest, AnExportFiltersAndItsCursorPassesTheRest) {
  ASSERT_THAT(Open(), IsOk());
  std::string cursor;
  EXPECT_EQ(Exported(core_->audits(), {.filter = {.kind = "issue"}}, &cursor), (std::vector<std::string>{"broker-3"}));
  EXPECT_EQ(cursor, "c1:broker=4");
  std::string moved;
  EXPECT_TRUE(Exported(core_->audits(), {.filter = {.kind = "misuse"}}, &moved).empty());
  EXPECT_EQ(moved, "c1:broker=4") << "the cursor moves over what is not wanted";
}

TEST_F(AuditsTest, ACursorBehindTheEndMeansThatEntriesAreGone) {
  absl::Status status;
  Exported(core_->audits(), {.cursor = "c1:broker=99"}, nullptr, &status);
  EXPECT_THAT(status, FailsWith(ErrorCode::kLedgerTruncated));
  Exported(core_->audits(), {.cursor = "c1:other=0"}, nullptr, &status);
  EXPECT_THAT(status, FailsWith(ErrorCode::kRecordNotFound));
  Exported(core_->audits(), {.cursor = "broker=0"}, nullptr, &status);
  EXPECT_THAT(status, FailsWith(ErrorCode::kBadArgument));
}

TEST_F(AuditsTest, AnExportFollowsAndReadsABrokenLedger) {
  std::vector<uint64_t> behind;
  int polls = 0;
  std::vector<std::string> lines;
  ASSERT_THAT(core_->audits().Export(
                  {.follow = Follow::kYes}, [&] { return ++polls > 50; },
                  [&](const ExportEvent& event) {
                    // On this clock that stands still nothing is synced by time.
                    EXPECT_TRUE(lines.size() != 1 || (Open().ok() && core_->ledger().Flush().ok()));
                    lines.push_back(event.json);
                    behind.push_back(event.behind);
                    return lines.size() < 4;
                  }),
              IsOk());
  EXPECT_THAT(lines.back(), HasSubstr("broker-3"));
  EXPECT_EQ(behind[0], 1u) << "of the two that were there, one was still to come";
  BreakLedger();
  EXPECT_EQ(Exported(core_->audits(), {}, nullptr).size(), 4u);
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
