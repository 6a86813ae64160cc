#include "audit/outcomes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "audit/intents.h"
#include "audit/json_line.h"
#include "audit/query.h"
#include "audit/reader.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using Json = nlohmann::json;
using testing_kit::IsOk;

std::string Line(const model::Record& record, uint64_t index) {
  JsonLine line;
  FormatRecord(record, &line);
  std::string text;
  line.AppendTo(&text, "edge", index);
  text.pop_back();
  return text;
}

TEST(JoinOutcomeTest, HasTheFieldsOfBoth) {
  model::Record intent = Intent("r-1");
  intent.rule = "web/endpoints/1";
  const Json joined = Json::parse(JoinOutcome(Line(Outcome("r-1", 4), 9), Line(intent, 4)));
  EXPECT_EQ(joined["kind"], "outcome");
  EXPECT_EQ(joined["id"], "edge-9");
  EXPECT_EQ(joined["status"], 200);
  EXPECT_EQ(joined["rule"], "web/endpoints/1");
  EXPECT_EQ(joined["session"], "s-1");
  EXPECT_EQ(joined["intent"], 4);
}

TEST(JoinOutcomeTest, TakesNothingFromARecordThatIsNotItsIntent) {
  const std::string outcome = Line(Outcome("r-1", 4), 9);
  EXPECT_EQ(JoinOutcome(outcome, Line(Intent("r-2"), 4)), outcome);
  EXPECT_EQ(JoinOutcome(outcome, Line(Outcome("r-1", 4), 4)), outcome);
  for (const char* broken : {"", "x", "[]", "{}", "{\"kind\":\"intent\"}", "{\"request_id\":5}"}) {
    EXPECT_EQ(JoinOutcome(outcome, broken), outcome) << broken;
    EXPECT_EQ(JoinOutcome(broken, Line(Intent("r-1"), 4)), broken);
  }
}

TEST(IntentOfTest, ReadsTheIndexAndNothingThatOnlyLooksLikeIt) {
  EXPECT_EQ(IntentOf(Line(Outcome("r", 41), 50)), 41u);
  EXPECT_EQ(IntentOf(Line(Intent("r"), 50)), std::nullopt);
  model::Record hostile = TestRecord(model::RecordKind::kDeny, "r");
  hostile.path = "/\"intent\":7,";
  EXPECT_EQ(IntentOf(Line(hostile, 50)), std::nullopt);
  EXPECT_EQ(IntentOf("{\"intent\":-1}"), std::nullopt);
  EXPECT_EQ(IntentOf("{\"intent\":99999999999999999999}"), std::nullopt);
  EXPECT_EQ(IntentOf("{\"intent\":"), std::nullopt);
}

TEST(OutcomesTest, JoinsWhatPassesAndLeavesTheRest) {
  Outcomes outcomes("/nowhere");
  const std::string intent = Line(Intent("r-1"), 3), deny = Line(TestRecord(model::RecordKind::kDeny, "r-2"), 4);
  EXPECT_EQ(outcomes.Join(3, intent), intent);
  EXPECT_EQ(outcomes.Join(4, deny), deny);
  EXPECT_EQ(Json::parse(outcomes.Join(5, Line(Outcome("r-1", 3), 5)))["session"], "s-1");
  const std::string orphan = Line(Outcome("r-9", 1), 6), forward = Line(Outcome("r-9", 8), 7);
  EXPECT_EQ(outcomes.Join(6, orphan), orphan);
  EXPECT_EQ(outcomes.Join(7, forward), forward);
}

TEST(OutcomesTest, AnOlderIntentIsReadFromTheFolder) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  ASSERT_THAT(ledger->Append(Intent("old"), nullptr), IsOk());
  Outcomes outcomes(folder / "l");
  outcomes.Join(0, Line(Intent("old"), 0));
  for (uint64_t i = 1; i <= Outcomes::kRemembered; ++i) outcomes.Join(i, Line(Intent(base::StrCat("r-", i)), i));
  EXPECT_EQ(Json::parse(outcomes.Join(5000, Line(Outcome("old", 0), 5000)))["session"], "s-1");
}

// Outcomes stand up to 40 entries behind their intents; the intent of `long` is the ledger's first entry.
class OutcomeQueryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(path_, {.segment_bytes = 8192}));
    int64_t second = 1'800'000'000;
    const auto append = [&](model::Record record, Position* position) {
      record.time = absl::FromUnixSeconds(second++);
      ASSERT_THAT(ledger->Append(record, position), IsOk());
    };
    Position first;
    append(Of("long", "slow"), &first);
    std::vector<Position> open;
    for (int i = 0; i < 200; ++i) {
      append(Of(base::StrCat("r-", i), i % 2 == 0 ? "even" : "odd"), &open.emplace_back());
      if (i >= 40) append(Outcome(base::StrCat("r-", i - 40), open[static_cast<std::size_t>(i - 40)].index), nullptr);
    }
    append(Outcome("long", first.index), nullptr);
    ASSERT_THAT(ledger->Close(), IsOk());
  }

  static model::Record Of(const std::string& request_id, const std::string& session) {
    model::Record record = Intent(request_id);
    record.session = session;
    return record;
  }

  std::vector<std::string> Requests(const Filter& filter) {
    const absl::StatusOr<std::vector<Entry>> entries = Query({path_}, filter);
    EXPECT_THAT(entries, IsOk());
    std::vector<std::string> out;
    for (const Entry& entry : *entries) {
      const Json record = Json::parse(entry.line);
      EXPECT_EQ(record["host"], "api.forge.example") << entry.line;
      out.push_back(record["request_id"]);
    }
    return out;
  }

  const Folder folder_;
  const std::string path_ = folder_ / "l";
};

TEST_F(OutcomeQueryTest, AnOutcomeIsFoundByWhatItsIntentSays) {
  Filter filter;
  filter.kind = "outcome";
  filter.session = "odd";
  filter.limit = 3;
  EXPECT_EQ(Requests(filter), (std::vector<std::string>{"r-155", "r-157", "r-159"}));
  filter.limit = 1000;
  EXPECT_EQ(Requests(filter).size(), 80u);
  filter.session = "slow";
  EXPECT_EQ(Requests(filter), (std::vector<std::string>{"long"}));
}

TEST_F(OutcomeQueryTest, TheNewestIsTheOneWhoseIntentIsTheOldest) {
  Filter filter;
  filter.limit = 1;
  EXPECT_EQ(Requests(filter), (std::vector<std::string>{"long"}));
  filter.limit = 4;
  EXPECT_EQ(Requests(filter), (std::vector<std::string>{"r-158", "r-199", "r-159", "long"}));
}

TEST_F(OutcomeQueryTest, AnIntentInFrontOfTheTimeLimitIsStillRead) {
  Filter filter;
  filter.kind = "outcome";
  filter.since = absl::FromUnixSeconds(1'800'000'000 + 361);
  EXPECT_EQ(Requests(filter), (std::vector<std::string>{"long"}));
}

// The edge that wrote it may be a hostile one.
TEST_F(OutcomeQueryTest, ALedgerThatNamesNoIntentsDoesNotHoldAQueryUp) {
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(path_));
    for (uint64_t i = 0; i < 300; ++i) ASSERT_THAT(ledger->Append(Outcome("none", i), nullptr), IsOk());
    model::Record large = Outcome("large", 5);
    large.path = std::string(2000, 'p');
    large.repository = large.subject = large.detail = large.rule = large.host = std::string(500, 'x');
    ASSERT_THAT(ledger->Append(large, nullptr), IsOk());
  }
  Filter filter;
  filter.request_id = "none";
  filter.limit = 1000;
  const absl::StatusOr<std::vector<Entry>> entries = Query({path_}, filter);
  ASSERT_THAT(entries, IsOk());
  EXPECT_EQ(entries->size(), 300u);
  EXPECT_FALSE(Json::parse(entries->front().line).contains("host"));
  filter.request_id = "large";
  EXPECT_EQ((*Query({path_}, filter)).size(), 1u);
  filter.visible_repositories = {"acme/web"};
  EXPECT_EQ((*Query({path_}, filter)).size(), 0u);
}

TEST_F(OutcomeQueryTest, AReviewersBoundHoldsForOutcomesToo) {
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(path_));
    model::Record other = Of("other", "even");
    other.repository = "acme/secret";
    Position position;
    ASSERT_THAT(ledger->Append(other, &position), IsOk());
    ASSERT_THAT(ledger->Append(Outcome("other", position.index), nullptr), IsOk());
  }
  Filter filter;
  filter.visible_repositories = {"acme/web"};
  filter.limit = 1;
  EXPECT_EQ(Requests(filter), (std::vector<std::string>{"long"}));
}

}  // namespace
}  // namespace credbroker::audit
