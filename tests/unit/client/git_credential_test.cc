#include "client/git_credential.h"

#include <gtest/gtest.h>

#include "kit/status_matchers.h"

namespace credbroker::client {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;

const CredentialHosts kHosts = {.gateway = "127.0.0.1:7481", .repositories = {"git.test", "git.example:8443"}};
constexpr char kAnswer[] = "username=credbroker\npassword=cbt_x\n";

std::string Ask(const std::string& input) {
  const auto question = ReadCredentialQuestion(input);
  return question.ok() ? AnswerCredential(*question, kHosts, "cbt_x") : "refused";
}

TEST(GitCredentialTest, AnswersForListedHostsOnly) {
  EXPECT_EQ(Ask("protocol=https\nhost=git.test\n\n"), kAnswer);
  EXPECT_EQ(Ask("protocol=https\nhost=git.test"), kAnswer) << "the last line may lack its break";
  EXPECT_EQ(Ask("protocol=https\nhost=GIT.test.:443\n\n"), kAnswer) << "another spelling of the same host";
  EXPECT_EQ(Ask("protocol=https\nhost=git.example:8443\npath=acme/web\nusername=me\n\n"), kAnswer);
  EXPECT_EQ(Ask("protocol=http\nhost=127.0.0.1:7481\nwwwauth[]=Basic\nwwwauth[]=Bearer\n\n"), kAnswer);
  EXPECT_EQ(Ask("protocol=https\nhost=evil.example\n\n"), "");
  EXPECT_EQ(Ask("protocol=https\nhost=git.test.evil.example\n\n"), "");
  EXPECT_EQ(Ask("protocol=https\nhost=git.example\n\n"), "") << "another port";
  EXPECT_EQ(Ask("protocol=http\nhost=git.test\n\n"), "") << "the token would cross the network in the clear";
}

TEST(GitCredentialTest, RefusesEveryByteThatCouldSmuggleALine) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string input = std::string("protocol=https\nhost=git.test\npath=a") + static_cast<char>(byte) + "b\n\n";
    const auto question = ReadCredentialQuestion(input);
    const bool control = (byte < 0x20 && byte != '\n') || byte == 0x7F;
    // A line break inside makes the line `b`, which has no key.
    EXPECT_EQ(question.ok(), !control && byte != '\n') << byte;
  }
}

TEST(GitCredentialTest, RefusesWhatIsMissingDoubledOrOdd) {
  const char* const cases[] = {
      "",
      "\nprotocol=https\nhost=git.test\n",
      "host=git.test\n\n",
      "protocol=https\n\n",
      "protocol=https\nhost=\n\n",
      "protocol=\nhost=git.test\n\n",
      "protocol=https\nhost=evil.example\nhost=git.test\n\n",
      "protocol=https\nprotocol=http\nhost=git.test\n\n",
      "protocol=cert\nhost=git.test\n\n",
      "protocol=https\nhost=me@git.test\n\n",
      "protocol=https\nhost=git.test/evil\n\n",
      "protocol=https\nhost=git.test\n=x\n\n",
      "protocol=https\nhost=git.test\nquit\n\n",
  };
  for (const char* input : cases)
    EXPECT_THAT(ReadCredentialQuestion(input), FailsWith(ErrorCode::kBadArgument)) << input;
  EXPECT_THAT(ReadCredentialQuestion(std::string(kMaxCredentialInput + 1, 'a')), FailsWith(ErrorCode::kTooLarge));
}

TEST(GitCredentialTest, LinesBehindTheEmptyOneAreNotRead) {
  EXPECT_EQ(Ask("protocol=https\nhost=git.test\n\nhost=evil.example\n"), kAnswer);
}

}  // namespace
}  // namespace credbroker::client
