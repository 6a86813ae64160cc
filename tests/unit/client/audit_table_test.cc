#include "client/audit_table.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

TEST(RecordJsonTest, PromisedMembersAreAlwaysThere) {
  const Json record = RecordJson(R"({"id":"broker-1","kind":"system","time":"2026-11-30T22:43:11.000123Z"})");
  for (const char* name :
       {"id", "time", "kind", "request_id", "session", "token_id", "requester", "method", "host", "path", "refs",
        "effect_class", "rule", "credential", "exception", "status", "policy_version"}) {
    EXPECT_TRUE(record.contains(name)) << name;
  }
  EXPECT_EQ(record["refs"], Json::array());
  EXPECT_TRUE(record["status"].is_null());
  EXPECT_EQ(record.begin().key(), "id");
}

TEST(RecordJsonTest, KeepsEverythingElse) {
  const Json record =
      RecordJson(R"({"bytes_up":7,"id":"edge-1","refs":[{"change":"create","ref":"refs/heads/x"}],"status":403})");
  EXPECT_EQ(record["bytes_up"], 7);
  EXPECT_EQ(record["status"], 403);
  EXPECT_EQ(record["refs"][0]["ref"], "refs/heads/x");
}

TEST(RecordJsonTest, ALineThatIsNoRecordIsShownAsSuch) {
  EXPECT_EQ(RecordJson("[1]")["unreadable"], "[1]");
  EXPECT_EQ(RecordRow(RecordJson("torn"))[1], "?");
}

TEST(RecordTableTest, FitsIntoAHundredAndTwentyColumns) {
  Table table = RecordTable();
  const Json record = RecordJson(
      R"({"code":"ref_not_allowed","host":"git.test","id":"edge-1","kind":"deny","method":"POST","path":"/acme/)" +
      std::string(300, 'x') +
      R"(","rule":"web-agent/repositories/acme/web/git.push","session":"s-aaaaaaaaaaaaaaaa",)"
      R"("status":403,"time":"2026-11-30T22:43:11.000123Z"})");
  table.Add(RecordRow(record));
  std::istringstream lines(table.Text());
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 120U) << line;
  EXPECT_NE(table.Text().find("2026-11-30 22:43:11Z"), std::string::npos);
  EXPECT_NE(table.Text().find("ref_not_allowed"), std::string::npos);
}

TEST(RecordTableTest, TellsAdminActionsByActionAndActor) {
  const auto row = RecordRow(RecordJson(R"({"action":"secret.put","actor":"uid:0","kind":"admin","subject":"bot"})"));
  EXPECT_EQ(row[2], "uid:0");
  EXPECT_EQ(row[3], "secret.put bot");
}

}  // namespace
}  // namespace credbroker::client
