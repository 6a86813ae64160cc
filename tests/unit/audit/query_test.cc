#include "audit/query.h"

#include "audit/intents.h"
#include "audit/ledger.h"
#include "audit/reader.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

// Appends a record per second from `start` on, varied by `change`.
void Fill(const std::string& folder, const std::string& name, int count, int64_t start,
          const std::function<void(int, model::Record*)>& change = {}) {
  LedgerOptions options;
  options.name = name;
  options.segment_bytes = 8192;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder, options));
  for (int i = 0; i < count; ++i) {
    model::Record record = TestRecord(model::RecordKind::kDeny, base::StrCat("r-", i));
    record.time = absl::FromUnixSeconds(start + i);
    if (change) change(i, &record);
    ASSERT_THAT(ledger->Append(record, nullptr), IsOk());
  }
}

std::vector<std::string> Ids(const absl::StatusOr<std::vector<Entry>>& entries) {
  std::vector<std::string> ids;
  EXPECT_THAT(entries, IsOk());
  for (const Entry& entry : *entries) ids.emplace_back(PlainMember(entry.line, "id"));
  return ids;
}

TEST(QueryTest, GivesTheNewestInLedgerOrder) {
  const Folder folder;
  Fill(folder / "l", "edge", 100, 1'800'000'000);
  Filter filter;
  filter.limit = 3;
  EXPECT_EQ(Ids(Query({folder / "l"}, filter)), (std::vector<std::string>{"edge-97", "edge-98", "edge-99"}));
  filter.limit = 0;
  EXPECT_TRUE(Ids(Query({folder / "l"}, filter)).empty());
  filter.limit = kMaxQueryRecords + 1;
  EXPECT_THAT(Query({folder / "l"}, filter), FailsWith(ErrorCode::kBadArgument));
}

TEST(QueryTest, MergesLedgersByTime) {
  const Folder folder;
  Fill(folder / "a", "a", 4, 1'800'000'000);
  Fill(folder / "b", "b", 4, 1'800'000'002);
  Filter filter;
  filter.limit = 6;
  EXPECT_EQ(Ids(Query({folder / "a", folder / "b"}, filter)),
            (std::vector<std::string>{"a-2", "b-0", "a-3", "b-1", "b-2", "b-3"}));
}

TEST(QueryTest, KeepsALedgersOwnOrderWhenItsClockStepsBack) {
  const Folder folder;
  Fill(folder / "l", "edge", 4, 1'800'000'000,
       [](int i, model::Record* record) { record->time -= absl::Seconds(i == 2 ? 5 : 0); });
  EXPECT_EQ(Ids(Query({folder / "l"}, Filter())), (std::vector<std::string>{"edge-0", "edge-1", "edge-2", "edge-3"}));
}

TEST(QueryTest, BoundsByTime) {
  const Folder folder;
  Fill(folder / "l", "edge", 100, 1'800'000'000);
  Filter filter;
  filter.since = absl::FromUnixSeconds(1'800'000'010);
  filter.until = absl::FromUnixSeconds(1'800'000'013);
  EXPECT_EQ(Ids(Query({folder / "l"}, filter)), (std::vector<std::string>{"edge-10", "edge-11", "edge-12"}));
}

TEST(QueryTest, EveryFieldFilters) {
  const Folder folder;
  const auto change = [](int i, model::Record* r) {
    r->kind = i == 1 ? model::RecordKind::kIntent : model::RecordKind::kDeny;
    const std::string mark = i == 1 ? "x" : "y";
    r->session = r->requester = r->rule = r->effect_class = r->exception = r->token_id = r->credential = r->host = r->code =
        r->action = mark;
    r->repository = i == 1 ? "Acme/Web" : "acme/other";
    r->policy_version = i;
  };
  Fill(folder / "l", "edge", 3, 1'800'000'000, change);
  const std::vector<std::pair<std::string Filter::*, std::string>> cases = {
      {&Filter::session, "x"},       {&Filter::requester, "x"},  {&Filter::rule, "x"},  {&Filter::effect_class, "x"},
      {&Filter::exception, "x"},     {&Filter::request_id, "r-1"}, {&Filter::token, "x"}, {&Filter::credential, "x"},
      {&Filter::host, "x"},          {&Filter::code, "x"},       {&Filter::action, "x"}, {&Filter::repository, "acme/web.git"},
      {&Filter::kind, "intent"},     {&Filter::decision, "allow"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Filter filter;
    filter.*cases[i].first = cases[i].second;
    EXPECT_EQ(Ids(Query({folder / "l"}, filter)), (std::vector<std::string>{"edge-1"})) << i;
    filter.*cases[i].first = "nothing";
    EXPECT_TRUE(Ids(Query({folder / "l"}, filter)).empty()) << i;
  }
  Filter version;
  version.policy_version = 1;
  EXPECT_EQ(Ids(Query({folder / "l"}, version)), (std::vector<std::string>{"edge-1"}));
  version.policy_version = 7;
  EXPECT_TRUE(Ids(Query({folder / "l"}, version)).empty());
  Filter visible;
  visible.visible_repositories = {"acme/web"};
  EXPECT_EQ(Ids(Query({folder / "l"}, visible)), (std::vector<std::string>{"edge-1"}));
  Filter denied;
  denied.decision = "deny";
  EXPECT_EQ(Ids(Query({folder / "l"}, denied)), (std::vector<std::string>{"edge-0", "edge-2"}));
}

TEST(QueryTest, LinesThatAreNoRecordsMatchNothing) {
  for (const std::string& line : {std::string(), std::string("x"), std::string("[]"), std::string("{\"time\":5}"),
                                  std::string(60'000, '['), std::string("\xff")}) {
    Filter filter;
    filter.session = "s";
    EXPECT_FALSE(Matches(filter, line));
  }
}

TEST(ReaderTest, ReadsBothWaysOverSegmentsAndBlocks) {
  const Folder folder;
  Fill(folder / "l", "edge", 3000, 1'800'000'000);
  std::vector<uint64_t> forward, backward;
  const auto collect = [](std::vector<uint64_t>* into) {
    return [into](uint64_t index, std::string_view line) {
      EXPECT_EQ(PlainMember(line, "id"), base::StrCat("edge-", index));
      into->push_back(index);
      return true;
    };
  };
  ASSERT_THAT(ReadEntries(folder / "l", Direction::kOldestFirst, 17, collect(&forward)), IsOk());
  ASSERT_THAT(ReadEntries(folder / "l", Direction::kNewestFirst, 17, collect(&backward)), IsOk());
  ASSERT_EQ(forward.size(), 2983u);
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(*CountEntries(folder / "l"), 3000u);
  EXPECT_EQ(PlainMember(*ReadEntry(folder / "l", 2999), "id"), "edge-2999");
  EXPECT_THAT(ReadEntry(folder / "l", 3000), FailsWith(ErrorCode::kRecordNotFound));
  EXPECT_EQ(ReadFrom(folder / "l", 3000, 100)->count, 0u);
}

TEST(ReaderTest, ATornLastLineIsLeftAlone) {
  const Folder folder;
  MakeLedger(folder / "l", 3);
  std::ofstream(FirstSegment(folder / "l"), std::ios::app) << "{\"half";
  EXPECT_EQ(*CountEntries(folder / "l"), 3u);
  int seen = 0;
  ASSERT_THAT(ReadEntries(folder / "l", Direction::kNewestFirst, 0,
                          [&](uint64_t index, std::string_view line) {
                            EXPECT_EQ(PlainMember(line, "id"), base::StrCat("edge-", index));
                            return ++seen, true;
                          }),
              IsOk());
  EXPECT_EQ(seen, 3);
}

TEST(FollowerTest, SeesWhatComesOnceAndInOrder) {
  const Folder folder;
  LedgerOptions options;
  options.segment_bytes = 2000;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l", options));
  Follower follower(folder / "l", 0);
  uint64_t next = 0;
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 1 + round % 7; ++i) ASSERT_THAT(ledger->Append(Intent("r"), nullptr), IsOk());
    int budget = round % 3 == 0 ? 2 : 1000;
    ASSERT_THAT(follower.Poll([&](uint64_t index, std::string_view line) {
      EXPECT_EQ(index, next++);
      EXPECT_EQ(PlainMember(line, "id"), base::StrCat("edge-", index));
      return --budget > 0;
    }),
                IsOk());
  }
  ASSERT_THAT(follower.Poll([&](uint64_t index, std::string_view) {
    EXPECT_EQ(index, next++);
    return true;
  }),
              IsOk());
  EXPECT_EQ(next, ledger->health().size);
  EXPECT_EQ(follower.next(), next);
}

}  // namespace
}  // namespace credbroker::audit
