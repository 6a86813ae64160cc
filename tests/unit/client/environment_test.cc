#include "client/environment.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "kit/status_matchers.h"

namespace credbroker::client {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;

EnvironmentSource Source() {
  return {.token = "cbt_v4.public.abc-DEF_1",
          .address = "unix:/run/credbroker/api.sock",
          .api_ca_file = "",
          .proxy_url = "http://127.0.0.1:7480",
          .gateway_url = "http://127.0.0.1:7481/",
          .ca_file = "/run/user/ca.pem",
          .program = "/opt/it's/credbroker",
          .git_hosts = {"git.test", "github.com", "git.test"},
          .placeholders = {{"GH_TOKEN", "ghp_placeholder"},
                           {"HTTPS_PROXY", "http://evil.example"},
                           {"a b", "x"},
                           {"OPENAI_API_KEY", "sk-p"}}};
}

TEST(EnvironmentTest, EveryVariableIsAsTheGoldenFileSays) {
  const std::string path = std::string(CREDBROKER_SOURCE_DIR) + "/tests/unit/client/environment.golden";
  ASSERT_OK_AND_ASSIGN(const Variables variables, MakeVariables(Source()));
  const std::string text = ShellExports(variables);
  if (std::getenv("CREDBROKER_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << "if this is meant, run again with CREDBROKER_UPDATE_GOLDEN=1";
}

TEST(EnvironmentTest, NamesAppearOnce) {
  ASSERT_OK_AND_ASSIGN(const Variables variables, MakeVariables(Source()));
  std::set<std::string> names;
  for (const auto& [name, value] : variables) EXPECT_TRUE(names.insert(name).second) << name;
}

TEST(EnvironmentTest, RefusesTokensAndAddressesThatDoNotFit) {
  for (const char* token : {"", "a b", "a@b", "a'b", "a\nb", "a%41"}) {
    EnvironmentSource source = Source();
    source.token = token;
    EXPECT_THAT(MakeVariables(source), FailsWith(ErrorCode::kBadToken)) << token;
  }
  for (const char* url : {"", "https://127.0.0.1:7480", "http://user@127.0.0.1:7480", "http://127.0.0.1:7480/x"}) {
    EnvironmentSource source = Source();
    source.proxy_url = url;
    EXPECT_THAT(MakeVariables(source), FailsWith(ErrorCode::kInternal)) << url;
  }
}

TEST(EnvironmentTest, ExportsSurviveAShell) {
  const Variables hostile = {{"A", "it's $(touch x) `y` \\ \"z\"\nnext"}};
  FILE* shell = popen((ShellExports(hostile) + "printf %s \"$A\"").c_str(), "r");
  ASSERT_NE(shell, nullptr);
  char buffer[256];
  const std::size_t size = fread(buffer, 1, sizeof buffer, shell);
  EXPECT_EQ(pclose(shell), 0);
  EXPECT_EQ(std::string(buffer, size), hostile[0].second);
}

TEST(EnvironmentTest, KnowsVariablesThatHoldOrLeadToCredentials) {
  for (const char* name :
       {"GH_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "SSH_AUTH_SOCK",
        "KUBECONFIG", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "NPM_TOKEN", "DB_PASSWORD", "TOKEN", "npm_config__auth",
        "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_SECRET", "CREDBROKER_ACCESS", "my_api_key"}) {
    EXPECT_TRUE(IsCredentialVariable(name)) << name;
  }
  for (const char* name :
       {"PATH", "HOME", "LANG", "AWS_REGION", "TERM", "TOKENIZERS_PARALLELISM", "EDITOR", "SPAT", "MAXTOKEN"}) {
    EXPECT_FALSE(IsCredentialVariable(name)) << name;
  }
}

TEST(EnvironmentTest, AChildGetsPlaceholdersAndNoRealCredential) {
  const Environment parent = {{"PATH", "/bin"},
                              {"GH_TOKEN", "real"},
                              {"AWS_PROFILE", "admin"},
                              {"CREDBROKER_ACCESS", "/a"},
                              {"MY_API_KEY", "real"},
                              {"GIT_CONFIG_KEY_9", "x.y"},
                              {"https_proxy", "http://other.example"}};
  ASSERT_OK_AND_ASSIGN(const Variables variables, MakeVariables(Source()));
  const Environment child = ChildEnvironment(parent, variables, {});
  EXPECT_EQ(Variable(child, "PATH"), "/bin");
  EXPECT_EQ(Variable(child, "GH_TOKEN"), "ghp_placeholder");
  EXPECT_EQ(Variable(child, "https_proxy"), "http://credbroker:cbt_v4.public.abc-DEF_1@127.0.0.1:7480");
  for (const char* name : {"AWS_PROFILE", "CREDBROKER_ACCESS", "MY_API_KEY", "GIT_CONFIG_KEY_9"})
    EXPECT_FALSE(child.contains(name)) << name;
  for (const auto& [name, value] : child) EXPECT_EQ(value.find("real"), std::string::npos) << name;
  EXPECT_EQ(Variable(ChildEnvironment(parent, variables, {"MY_API_KEY", "GH_TOKEN"}), "MY_API_KEY"), "real");
  EXPECT_EQ(Variable(ChildEnvironment(parent, variables, {"GH_TOKEN"}), "GH_TOKEN"), "real");
}

}  // namespace
}  // namespace credbroker::client
