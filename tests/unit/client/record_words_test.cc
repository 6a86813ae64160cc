#include "client/record_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/str.h"
#include "client/audit_table.h"
#include "client/incident.h"
#include "client/record_replay.h"
#include "kit/status_matchers.h"
#include "nlohmann/json.hpp"
#include "policy/rule_set.h"

namespace credbroker::client {
namespace {

using testing::HasSubstr;
using testing_kit::FailsWith;

constexpr char kPush[] =
    R"({"id":"edge-7","kind":"deny","time":"2026-11-30T22:43:11.000123Z","session":"s-1","token_id":"t-1","requester":"team-web",)"
    R"("phase":"agent","label":"agent","method":"POST","scheme":"https","host":"git.test","port":443,)"
    R"("path":"/acme/web/git-receive-pack","repository":"acme/web","refs":[{"ref":"refs/heads/main","change":"update","old_id":"a","new_id":"b"}],)"
    R"("code":"ref_not_allowed","rule":"web/repositories/acme/web/git.push","status":403,"policy_version":3,"request_id":"r-1"})";

constexpr char kPolicy[] = R"(
apiVersion: credbroker/v1
services:
  git.test: {preset: gitea, hosts: [git.test]}
scopes:
  web:
    requesters: [team-web]
    repositories:
      - {service: git.test, name: acme/web, git: {fetch: allow, push: {refs: [REFS], FORCE}}}
)";

std::shared_ptr<const policy::RuleSet> Rules(const std::string& refs, const std::string& force) {
  std::string text = kPolicy;
  text.replace(text.find("REFS"), 4, refs);
  text.replace(text.find("FORCE"), 5, force);
  const auto rules = policy::RuleSet::Load({.documents = {{"policy.yaml", text}}}, 3, "d");
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *rules;
}

std::string Words(const Json& record) {
  std::string all;
  for (const std::string& sentence : RecordWords(record)) all += sentence + "\n";
  return all;
}

TEST(RecordWordsTest, ARefusalSaysWhoWhatWhyAndWhatToDo) {
  const std::string words = Words(RecordJson(kPush));
  EXPECT_THAT(words, HasSubstr("session s-1 of team-web (token t-1), phase agent asked for push to git.test/acme/web: update "
                               "refs/heads/main."));
  EXPECT_THAT(words, HasSubstr("Refused with status 403: ref_not_allowed, no rule allows this ref."));
  EXPECT_THAT(words, HasSubstr("rule web/repositories/acme/web/git.push under policy version 3"));
  EXPECT_THAT(words, HasSubstr("Next: push to a branch that the scope's push.refs allow."));
}

TEST(RecordWordsTest, EveryKindHasWords) {
  for (const char* kind : {"intent", "outcome", "issue", "revoke", "session", "admin", "misuse", "system", "never seen"}) {
    const Json record = RecordJson(base::StrCat(R"({"kind":")", kind, R"(","outcome":"done","action":"x.y","code":"no such word"})"));
    EXPECT_FALSE(RecordWords(record).empty()) << kind;
  }
  EXPECT_FALSE(RecordWords(RecordJson("no record")).empty());
}

TEST(RecordReplayTest, RepeatsTheRulingAndJudgesAnew) {
  const auto strict = Rules("\"refs/heads/agent/*\"", "force: allow");
  const auto open = Rules("\"refs/heads/main\"", "force: allow");
  Json record = RecordJson(kPush);
  ASSERT_OK_AND_ASSIGN(Replay replay, ReadReplay(record));
  replay.grant.scopes = {"web"};
  EXPECT_EQ(replay.facts.size(), 2u) << "an update may have been proven a fast-forward or not";
  const Ruling was = Rule(replay.facts[0], replay.grant, strict, replay.at);
  EXPECT_FALSE(was.allowed);
  record["rule"] = was.rule;
  record["code"] = was.code;
  ASSERT_OK_AND_ASSIGN(const Ruling next, Rejudge(record, replay, strict, open));
  EXPECT_TRUE(next.allowed);
  // Under a rule that asks for fast-forwards the record does not hold what decides.
  EXPECT_THAT(Rejudge(record, replay, strict, Rules("\"refs/heads/main\"", "force: deny")),
              FailsWith(base::ErrorCode::kBadArgument));
  record["code"] = "narrowed";
  EXPECT_THAT(Rejudge(record, replay, strict, open), FailsWith(base::ErrorCode::kBadArgument)) << "it does not repeat";
}

TEST(RecordReplayTest, SaysWhatItCannotReplay) {
  const std::vector<std::pair<const char*, Json>> changes = {{"session", nullptr},
                                                             {"rule", "edge/token_expired"},
                                                             {"path", "/acme/...[9000 bytes]"},
                                                             {"path", "/a/[token:0011223344556677]"},
                                                             {"path", "/a/\\x1b"},
                                                             {"path", "/a/../b"},
                                                             {"path", "/acme/web/info/refs"},
                                                             {"phase", "later"},
                                                             {"host", "a b"},
                                                             {"port", "443"}};
  for (const auto& [name, value] : changes) {
    Json record = RecordJson(kPush);
    record[name] = value;
    EXPECT_THAT(ReadReplay(record), FailsWith(base::ErrorCode::kBadArgument)) << name << " " << value;
  }
}

TEST(IncidentTest, GathersWhatWasIssuedAndUsed) {
  IncidentReport incident;
  for (const char* line :
       {R"({"kind":"session","action":"session.open","session":"s-1","requester":"team-web","time":"T0"})",
        R"({"kind":"issue","action":"token.mint","session":"s-1","token_id":"t-1","requester":"team-web","time":"T1"})",
        R"({"kind":"intent","session":"s-1","requester":"team-web","credential":"bot","repository":"acme/web","host":"git.test","time":"T2"})",
        R"({"kind":"outcome","session":"s-1","repository":"acme/web","refs":[{"ref":"refs/heads/x|y","change":"create"}],"status":200,"time":"T3"})",
        R"({"kind":"revoke","action":"revoke.session","subject":"s-1","time":"T5"})", "no record", kPush}) {
    incident.Take(RecordJson(line));
  }
  const Json report = incident.Report("A", "B");
  EXPECT_EQ(report["records"], 7);
  ASSERT_EQ(report["sessions"].size(), 1u);
  EXPECT_EQ(report["sessions"][0]["allowed"], 1);
  EXPECT_EQ(report["sessions"][0]["refused"], 1);
  EXPECT_EQ(report["credentials"][0]["credential"], "bot");
  EXPECT_EQ(report["pushes"][0]["ref"], "refs/heads/x|y");
  EXPECT_EQ(report["refusals"][0]["code"], "ref_not_allowed");
  EXPECT_EQ(report["revocations"].size(), 1u);
  EXPECT_THAT(IncidentMarkdown(report), HasSubstr("refs/heads/x\\|y")) << "a ref cannot break the table";
}

TEST(IncidentTest, IsBounded) {
  IncidentReport incident;
  for (std::size_t i = 0; i < IncidentReport::kMaxEach + 5; ++i) {
    incident.Take(Json{{"kind", "misuse"}, {"session", ""}, {"code", "x"}});
  }
  const Json report = incident.Report("A", "B");
  EXPECT_EQ(report["misuse"].size(), IncidentReport::kMaxEach);
  EXPECT_EQ(report["not_listed"], 5);
}

}  // namespace
}  // namespace credbroker::client
