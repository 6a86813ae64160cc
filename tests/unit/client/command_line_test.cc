#include "client/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "client/fake_broker.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

class CommandLineTest : public ::testing::Test {
 protected:
  RunResult Run(const std::vector<std::string>& arguments, Environment more = {}, const std::string& input = {}) {
    more.emplace("CREDBROKER_ADDRESS", broker_.address());
    more.emplace("XDG_RUNTIME_DIR", broker_.folder());
    return RunLine(arguments, std::move(more), input);
  }
  // Runs with JSON output and parses all of standard output.
  Json RunJson(std::vector<std::string> arguments, Environment more = {}, const std::string& input = {}) {
    arguments.insert(arguments.end(), {"--output", "json"});
    const RunResult result = Run(arguments, std::move(more), input);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }
  FakeBroker broker_;
};

TEST_F(CommandLineTest, OpeningASessionAnswersSessionAndToken) {
  const Json answer = RunJson(
      {"session", "open", "--requester", "team-web", "--scope", "a", "--scope", "b", "--ttl", "5m", "--ticket", "T-1"});
  EXPECT_EQ(answer["session"]["id"], "s-1");
  EXPECT_EQ(answer["session"]["idle_limit"], "20m");
  EXPECT_TRUE(answer["session"]["closed_at"].is_null());
  EXPECT_EQ(answer["token"]["text"], "cbt_v4.public.abc-DEF_1");
  EXPECT_THAT(answer["token"]["expires_at"].get<std::string>(), HasSubstr("2027-01-15T08:15:00"));
  EXPECT_THAT(broker_.calls(), ElementsAre("OpenSession: team-web a b ttl=300 ticket=T-1"));
}

TEST_F(CommandLineTest, ClosingListsWhatWasRevoked) {
  EXPECT_EQ(RunJson({"session", "close", "s-1"})["revoked_tokens"], Json::array({"t-1"}));
}

TEST_F(CommandLineTest, ListsAreArrays) {
  EXPECT_EQ(RunJson({"session", "list"})[0]["id"], "s-1");
  const Json secrets = RunJson({"secret", "list"});
  EXPECT_EQ(secrets[0]["name"], "bot");
  EXPECT_EQ(secrets[0]["set"], true);
  EXPECT_EQ(secrets[1]["name"], "llm");
  EXPECT_EQ(secrets[1]["set"], false);
}

TEST_F(CommandLineTest, EnvIsOneFlatObjectOfTexts) {
  const Json variables = RunJson({"env"}, {{"CREDBROKER_TOKEN", "cbt_holder"}});
  ASSERT_TRUE(variables.is_object());
  for (const auto& [name, value] : variables.items()) EXPECT_TRUE(value.is_string()) << name;
  EXPECT_EQ(variables["HTTPS_PROXY"], "http://credbroker:cbt_holder@127.0.0.1:7480");
  EXPECT_EQ(variables["GH_TOKEN"], "ghp_placeholder");
  EXPECT_FALSE(variables.contains("bad name;"));
  EXPECT_EQ(variables["CREDBROKER_ADDRESS"], broker_.address());
  const std::string bundle = variables["SSL_CERT_FILE"];
  ASSERT_TRUE(std::filesystem::exists(bundle)) << bundle;
  EXPECT_EQ(std::filesystem::status(bundle).permissions(), std::filesystem::perms(0644));
  std::ostringstream text;
  text << std::ifstream(bundle).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("BEGIN CERTIFICATE-----\nQ0E=\n"));
  EXPECT_EQ(broker_.calls()[0], "WhoAmI: cbt_holder");
}

TEST_F(CommandLineTest, EnvWritesTheBundleWhereItIsTold) {
  const std::string path = broker_.folder() + "/out.pem";
  const Json with_token = RunJson({"env", "--ca-out", path, "--token", "cbt_holder"});
  EXPECT_EQ(with_token["SSL_CERT_FILE"], path);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(RunJson({"env", "--ca-out", path})["GIT_SSL_CAINFO"], path);
  EXPECT_EQ(Run({"env"}).code, 1);
}

TEST_F(CommandLineTest, BatchAnswersAreJsonLinesInOrder) {
  std::string rows;
  for (int i = 0; i < 2500; ++i) rows += R"({"method":"GET","url":"https://api.test/)" + std::to_string(i) + "\"}\n\n";
  rows += R"({"git":"push","repo":"https://git.test/a/b","ref":"refs/heads/x","force":true})";
  const RunResult result = Run({"policy", "explain", "--scope", "web", "--batch", "-"}, {}, rows);
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  std::string line;
  for (int i = 0; i < 2500; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(Json::parse(line)["rule"], "GET https://api.test/" + std::to_string(i));
  }
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(Json::parse(line)["rule"], "push refs/heads/x force");
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(CommandLineTest, ABrokenRowNamesItsLine) {
  const RunResult result =
      Run({"policy", "explain", "--scope", "web", "--batch", "-"}, {}, "{\"url\":\"https://a.test\"}\n\n{\"x\":1}\n");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("error 5006 bad_argument: line 3"));
}

TEST_F(CommandLineTest, ExplainSpeaksForTheTokenOfTheEnvironmentUnlessToldOtherwise) {
  RunJson({"policy", "explain", "--url", "https://api.test/x"}, {{"CREDBROKER_TOKEN", "cbt_holder"}});
  RunJson({"policy", "explain", "--url", "https://api.test/x", "--session", "s-1"},
          {{"CREDBROKER_TOKEN", "cbt_holder"}});
  EXPECT_THAT(broker_.calls(),
              ElementsAre("Explain: 1 under cbt_holder, cbt_holder", "Explain: 1 under s-1, no token"));
  EXPECT_EQ(Run({"policy", "explain", "--url", "https://api.test/x"}).code, 1);
}

TEST_F(CommandLineTest, ASecretComesFromStandardInputOrAFile) {
  EXPECT_EQ(RunJson({"secret", "put", "env"}, {}, "value\n")["secret"]["name"], "env")
      << "a sub-command's name is a fine secret's name";
  std::ofstream(broker_.folder() + "/value") << "12345";
  RunJson({"secret", "put", "bot", "--from-file", broker_.folder() + "/value"});
  EXPECT_THAT(broker_.calls(), ElementsAre("PutSecret: env 6 bytes", "PutSecret: bot 5 bytes"));
  EXPECT_EQ(Run({"secret", "put", "bot", "the-value"}).code, 2) << "a value is never an argument";
  EXPECT_THAT(Run({"secret", "put", "bot"}, {}, std::string(70'000, 'x')).err, HasSubstr("error 5009"));
}

TEST_F(CommandLineTest, RevokeWithoutATargetIsTheHoldersOwn) {
  RunJson({"token", "revoke"}, {{"CREDBROKER_TOKEN", "cbt_holder"}});
  RunJson({"token", "revoke", "--all"}, {{"CREDBROKER_TOKEN", "cbt_holder"}});
  RunJson({"token", "revoke", "t-9"});
  EXPECT_THAT(broker_.calls(), ElementsAre("RevokeToken: target 0, cbt_holder", "RevokeToken: target 6, no token",
                                           "RevokeToken: target 1, no token"));
  EXPECT_EQ(Run({"token", "revoke"}).code, 1);
  EXPECT_EQ(Run({"token", "revoke", "t-9", "--all"}).code, 2);
}

TEST_F(CommandLineTest, AuditRecordsHaveEveryMemberInOrder) {
  broker_.SetRecords({R"({"id":"edge-0","kind":"intent"})", R"({"id":"edge-1","kind":"outcome","status":200})"});
  const Json records = RunJson({"audit", "list", "--limit", "5", "--session", "s-1", "--since", "10m"});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0]["id"], "edge-0");
  EXPECT_EQ(records[0]["refs"], Json::array());
  EXPECT_EQ(records[1]["status"], 200);
  EXPECT_THAT(broker_.calls(), ElementsAre("ListRecords: 5 s-1 since"));
  const RunResult tail = Run({"audit", "tail", "--max", "1", "--output", "json"});
  EXPECT_EQ(std::count(tail.out.begin(), tail.out.end(), '\n'), 1);
}

TEST_F(CommandLineTest, GitGetsTheTokenForItsHostsAlone) {
  const Environment holder = {{"CREDBROKER_TOKEN", "cbt_holder"}};
  EXPECT_EQ(Run({"git-credential", "get"}, holder, "protocol=https\nhost=git.test\n\n").out,
            "username=credbroker\npassword=cbt_holder\n");
  EXPECT_EQ(Run({"git-credential", "get"}, holder, "protocol=http\nhost=127.0.0.1:7481\n\n").out,
            "username=credbroker\npassword=cbt_holder\n");
  const RunResult other = Run({"git-credential", "get"}, holder, "protocol=https\nhost=evil.example\n\n");
  EXPECT_EQ(other.code, 0);
  EXPECT_THAT(other.out, IsEmpty());
  const RunResult smuggled = Run({"git-credential", "get"}, holder, "protocol=https\nhost=git.test\rx\n\n");
  EXPECT_EQ(smuggled.code, 1);
  EXPECT_THAT(smuggled.out, IsEmpty());
  for (const char* operation : {"store", "erase"}) EXPECT_EQ(Run({"git-credential", operation}, {}, "x").code, 0);
}

TEST_F(CommandLineTest, AFailureNamesCodeAndNextStepAndLeavesStandardOutputEmpty) {
  broker_.FailWith(1012);
  const RunResult result = Run({"session", "close", "s-9", "--output", "json"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(result.err,
            "error 1012 session_not_found: there is no such session: more\n  lines \\x1b[31m\n"
            "next: list them with `credbroker session list`\n");
}

}  // namespace
}  // namespace credbroker::client
