#include "client/question_row.h"

#include <gtest/gtest.h>

#include "credbroker/v1/policy.pb.h"
#include "kit/status_matchers.h"

namespace credbroker::client {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

TEST(QuestionRowTest, ReadsRequestsAndGitOperations) {
  v1::Question request;
  EXPECT_THAT(ReadQuestionRow(R"({"method":"POST","url":"https://api.test/x","body":"{}"})", &request), IsOk());
  EXPECT_EQ(request.method(), "POST");
  EXPECT_EQ(request.body(), "{}");
  v1::Question plain;
  EXPECT_THAT(ReadQuestionRow(R"({"url":"https://api.test/x","body":null})", &plain), IsOk());
  EXPECT_EQ(plain.method(), "GET");
  v1::Question push;
  EXPECT_THAT(
      ReadQuestionRow(R"({"git":"push","repo":"https://git.test/a/b","ref":"refs/heads/x","delete":true})", &push),
      IsOk());
  EXPECT_EQ(push.change(), "delete");
  v1::Question update;
  EXPECT_THAT(
      ReadQuestionRow(R"({"git":"push","repo":"https://git.test/a/b","ref":"refs/heads/x","force":false})", &update),
      IsOk());
  EXPECT_EQ(update.change(), "");
}

TEST(QuestionRowTest, RefusesWhatIsUnclear) {
  for (const char* row :
       {"", "[]", "{", R"({"url":7})", R"({"method":"GET"})",
        R"({"url":"https://a.test","git":"fetch","repo":"https://a.test/a/b"})",
        R"({"git":"clone","repo":"https://a.test/a/b"})", R"({"git":"push","repo":"https://a.test/a/b"})",
        R"({"git":"push","repo":"https://a.test/a/b","ref":"r","create":true,"force":true})",
        R"({"git":"push","repo":"https://a.test/a/b","ref":"r","create":"yes"})",
        R"({"url":"https://a.test","x":1})"}) {
    v1::Question question;
    EXPECT_THAT(ReadQuestionRow(row, &question), FailsWith(ErrorCode::kBadArgument)) << row;
  }
}

}  // namespace
}  // namespace credbroker::client
