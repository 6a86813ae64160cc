// The built program, from outside: exit codes, what goes to which stream, `run` and its command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/fake_broker.h"

namespace credbroker::client {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Runs a shell line in which $P is the program.
RunResult Shell(const std::string& folder, const std::string& line) {
  const std::string script = "P='" CREDBROKER_PROGRAM
                             "'; unset CREDBROKER_TOKEN CREDBROKER_ADDRESS; export XDG_RUNTIME_DIR='" +
                             folder + "'; { " + line + "; } >'" + folder + "/out' 2>'" + folder + "/err' </dev/null";
  const int status = std::system(script.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp(folder + "/out"), Slurp(folder + "/err")};
}

class ProgramTest : public ::testing::Test {
 protected:
  RunResult Run(const std::string& line) {
    return Shell(broker_.folder(), "export CREDBROKER_ADDRESS=" + broker_.address() + "; " + line);
  }
  FakeBroker broker_;
};

TEST_F(ProgramTest, UsageErrorsExitWithTwoAndPrintNothingToStandardOutput) {
  for (const char* arguments : {"",
                                "nonsense",
                                "session",
                                "session open",
                                "session open --requester r",
                                "session phase s-1 later",
                                "status --output xml",
                                "status extra",
                                "token mint",
                                "policy explain",
                                "policy explain --url u --batch f",
                                "run",
                                "run --",
                                "run --requester r -- true",
                                "run --session s --requester r --scope x -- true",
                                "status -- x",
                                "audit list --limit 0",
                                "audit list --kind other",
                                "secret put",
                                "git-credential",
                                "apply",
                                "policy explain --git clone --repo u",
                                "--no-such-flag status"}) {
    const RunResult result = Run(std::string("$P ") + arguments);
    EXPECT_EQ(result.code, 2) << arguments << "\n" << result.err;
    EXPECT_THAT(result.out, IsEmpty()) << arguments;
    EXPECT_THAT(result.err, Not(IsEmpty())) << arguments;
  }
}

TEST_F(ProgramTest, AnUnreachableBrokerIsCode5012) {
  const RunResult result = Run("$P status --address unix:$XDG_RUNTIME_DIR/nobody.sock --output json");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("error 5012 broker_unreachable: "));
  EXPECT_THAT(result.err, HasSubstr("\nnext: check CREDBROKER_ADDRESS"));
}

TEST_F(ProgramTest, EverySubCommandTeaches) {
  for (const char* command :
       {"status",          "apply",       "policy",       "policy get",     "policy history", "policy diff",
        "policy explain",  "policy test", "secret",       "secret put",     "secret list",    "secret rotate",
        "secret delete",   "session",     "session open", "session list",   "session show",   "session phase",
        "session close",   "token",       "token mint",   "token derive",   "token renew",    "token revoke",
        "token whoami",    "env",         "run",          "git-credential", "exception",      "exception list",
        "audit",           "audit list",  "audit tail",   "audit show",     "audit verify",   "audit prove",
        "audit checkpoint"}) {
    const RunResult result = Run(std::string("$P ") + command + " --help");
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_THAT(result.out, HasSubstr("Example:\n  ")) << command;
    EXPECT_THAT(result.out, HasSubstr("Next: ")) << command;
  }
  EXPECT_THAT(Run("$P --help").out, HasSubstr("Exit codes: 0 done"));
  EXPECT_EQ(Run("$P --version").out, "credbroker 0.1.0\n");
}

TEST_F(ProgramTest, GlobalFlagsStandBeforeOrBehindTheSubCommand) {
  EXPECT_THAT(Run("$P --output json status").out, HasSubstr("\"ledger_ok\": true"));
  EXPECT_THAT(Run("$P status --output json").out, HasSubstr("\"ledger_ok\": true"));
  EXPECT_THAT(Run("$P status").out, HasSubstr("ledger          writable"));
}

TEST_F(ProgramTest, RunReplacesItselfUnderAToken) {
  const RunResult result =
      Run("export CREDBROKER_TOKEN=cbt_h GH_TOKEN=real SSH_AUTH_SOCK=/s; "
          "$P run -- sh -c 'echo $GH_TOKEN,$https_proxy,$SSH_AUTH_SOCK,$0,$1; exit 7' --output --help");
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_EQ(result.out, "ghp_placeholder,http://credbroker:cbt_h@127.0.0.1:7480,,--output,--help\n");
}

TEST_F(ProgramTest, RunClosesTheSessionThatItOpened) {
  const RunResult result = Run("$P run --requester team-web --scope web -- sh -c 'echo $CREDBROKER_TOKEN; exit 3'");
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_EQ(result.out, "cbt_v4.public.abc-DEF_1\n");
  EXPECT_EQ(broker_.calls().back(), "CloseSession: s-1");
}

TEST_F(ProgramTest, RunClosesItsSessionWhenTheCommandIsKilledOrMissing) {
  EXPECT_EQ(Run("$P run --requester r --scope s -- sh -c 'kill -9 $$'").code, 128 + 9);
  EXPECT_EQ(broker_.calls().back(), "CloseSession: s-1");
  const RunResult missing = Run("$P run --requester r --scope s -- no-such-command-anywhere");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("error 4006"));
  EXPECT_EQ(broker_.calls().back(), "CloseSession: s-1");
}

// The thread sanitizer holds a signal back until the program makes a call that it knows to wait, and waitid is none: there
// the handler would run only when the command has ended.
#ifndef __SANITIZE_THREAD__
TEST_F(ProgramTest, RunForwardsSignalsAndWaits) {
  // The command tells its parent's process id, is told to stop through it, and ends by a trap of its own.
  const RunResult result =
      Run("$P run --requester r --scope s -- sh -c 'trap \"echo stopped; exit 5\" TERM; kill -TERM $PPID; "
          "while :; do :; done'");
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.out, "stopped\n");
  EXPECT_EQ(broker_.calls().back(), "CloseSession: s-1");
}
#endif

TEST_F(ProgramTest, RunMintsATokenOfAnOpenSession) {
  EXPECT_EQ(Run("$P run --session s-7 -- true").code, 0);
  EXPECT_THAT(broker_.calls(), Contains("MintToken: s-7"));
}

TEST_F(ProgramTest, PolicyTestsRunOffline) {
  std::ofstream(broker_.folder() + "/policy.yaml") << R"(apiVersion: credbroker/v1
services:
  api: {hosts: [api.test]}
credentials:
  key: {service: api, provider: static, secret: secret:key, place: {header: {name: x-api-key}}}
scopes:
  web:
    requesters: [team]
    endpoints:
      - {service: api, credential: key, allow: [{methods: [GET], path: /v1/items}]}
)";
  std::ofstream(broker_.folder() + "/held.yaml") << R"(policy: policy.yaml
questions:
  - {scope: web, method: GET, url: https://api.test/v1/items, expect: allow, credential: key}
  - {scope: web, method: POST, url: https://api.test/v1/items, expect: deny}
  - {scope: web, url: https://other.test/, expect: deny, reason: host_not_allowed}
)";
  std::ofstream(broker_.folder() + "/failed.yaml")
      << "questions: [{scope: web, url: 'https://api.test/v1/items', expect: deny}]\n";
  std::ofstream(broker_.folder() + "/odd.yaml")
      << "questions:\n  - {scope: web, url: 'https://api.test/', expext: deny}\n";
  const RunResult held = Run("$P policy test $XDG_RUNTIME_DIR/held.yaml");
  EXPECT_EQ(held.code, 0) << held.out << held.err;
  const RunResult failed =
      Run("$P policy test $XDG_RUNTIME_DIR/failed.yaml --policy $XDG_RUNTIME_DIR/policy.yaml --output json");
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.out, HasSubstr("\"held\": false"));
  EXPECT_THAT(failed.err, HasSubstr("error 5016 expectation_failed"));
  EXPECT_THAT(Run("$P policy test $XDG_RUNTIME_DIR/odd.yaml --policy $XDG_RUNTIME_DIR/policy.yaml").err,
              HasSubstr("line 2: unknown key expext"));
  EXPECT_THAT(broker_.calls(), IsEmpty());
}

}  // namespace
}  // namespace credbroker::client
