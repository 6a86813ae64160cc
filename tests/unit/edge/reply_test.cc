#include "edge/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Answer(ErrorCode code, Challenge challenge, Audience audience = Audience::kJson, bool head_only = false) {
  std::string out;
  AppendRefusal({code, "web-agent/\"quoted\"", "r-9", {}}, audience, challenge, wire::Persist::kKeep, head_only, &out);
  return out;
}

TEST(ReplyTest, JsonHoldsTheFiveFields) {
  const std::string answer = Answer(ErrorCode::kNoRule, Challenge::kNone);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer, HasSubstr("content-type: application/json\r\n"));
  const auto body = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  const auto& error = body.at("error");
  EXPECT_EQ(error.at("code"), 2103);
  EXPECT_EQ(error.at("rule"), "web-agent/\"quoted\"");
  EXPECT_EQ(error.at("request_id"), "r-9");
  EXPECT_NE(error.at("reason"), "");
  EXPECT_NE(error.at("next_step"), "");
  EXPECT_EQ(error.size(), 5u);
}

// B25, B77: a challenge, or git gives up.
TEST(ReplyTest, FailedLoginsAreChallenged) {
  EXPECT_THAT(Answer(ErrorCode::kNoToken, Challenge::kProxy), testing::AllOf(StartsWith("HTTP/1.1 407 "), HasSubstr("proxy-authenticate: Basic ")));
  EXPECT_THAT(Answer(ErrorCode::kTokenExpired, Challenge::kOrigin), testing::AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("www-authenticate: Basic ")));
  EXPECT_THAT(Answer(ErrorCode::kNoRule, Challenge::kProxy), testing::AllOf(StartsWith("HTTP/1.1 403 "), Not(HasSubstr("authenticate"))));
}

TEST(ReplyTest, GitReadsText) {
  const std::string answer = Answer(ErrorCode::kPushNotAllowed, Challenge::kNone, Audience::kGitText);
  EXPECT_THAT(answer, HasSubstr("content-type: text/plain"));
  EXPECT_THAT(answer, HasSubstr("next step: "));
}

TEST(ReplyTest, HeadGetsNoBody) {
  const std::string answer = Answer(ErrorCode::kNoRule, Challenge::kNone, Audience::kJson, true);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  EXPECT_THAT(answer, HasSubstr("content-length: "));
}

}  // namespace
}  // namespace credbroker::edge
