#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <type_traits>

#include "base/duration.h"
#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/macros.h"
#include "base/secret.h"
#include "base/task.h"
#include "base/text.h"
#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"

namespace credbroker::base {
namespace {

using testing_kit::FailsWith;
using testing_kit::IsOk;

TEST(DurationTest, ReadsWhatItWrites) {
  for (const char* text : {"15m", "2h", "1h30m", "90ms", "7d", "1d1h1m1s1ms"}) {
    ASSERT_OK_AND_ASSIGN(const absl::Duration duration, ParseDuration(text));
    EXPECT_EQ(DurationText(duration), text);
  }
}

TEST(DurationTest, RefusesWhatIsNotADuration) {
  for (const char* text : {"", "15", "m", "-1m", "1.5h", "1 h", "1w", "99999d", "99999999999999999999s", "1m2"}) {
    EXPECT_THAT(ParseDuration(text), FailsWith(ErrorCode::kBadDuration)) << text;
  }
}

TEST(TimeTest, WritesMicrosecondsInUtc) {
  ASSERT_OK_AND_ASSIGN(const absl::Time time, ParseTime("2026-11-30T12:00:00.000001+01:00"));
  EXPECT_EQ(TimeText(time), "2026-11-30T11:00:00.000001Z");
  EXPECT_THAT(ParseTime("2027-01-31"), IsOk());
  EXPECT_THAT(ParseTime("tomorrow"), FailsWith(ErrorCode::kBadTime));
}

TEST(ErrorTest, EveryNumberIsUsedOnceAndHasWords) {
  std::set<int> numbers;
  int count = 0;
#define BROKER_ERROR(number, name, status, http, text, next_step) \
  numbers.insert(number);                                         \
  ++count;                                                        \
  EXPECT_NE(std::string_view(text), "") << number;                \
  EXPECT_NE(std::string_view(next_step), "") << number;           \
  EXPECT_TRUE(http >= 400 && http < 600) << number;
#include "base/errors.def"
#undef BROKER_ERROR
  EXPECT_EQ(static_cast<int>(numbers.size()), count);
}

TEST(ErrorTest, CodeSurvivesContext) {
  const absl::Status status = WithContext(Error(ErrorCode::kNoRule, "grant g-17"), "deciding");
  EXPECT_EQ(CodeOf(status), ErrorCode::kNoRule);
  EXPECT_EQ(status.message(), "deciding: no rule allows this request: grant g-17");
  EXPECT_EQ(Lookup(ErrorCode::kNoRule).name, "no_rule");
  EXPECT_EQ(CodeOf(absl::UnknownError("x")), ErrorCode::kInternal);
}

TEST(SecretTest, DoesNotCompareCopyOrPrint) {
  static_assert(!std::is_copy_constructible_v<Secret>);
  static_assert(!std::is_copy_assignable_v<Secret>);
  EXPECT_EQ(testing::PrintToString(Secret::Copy("hunter2")), "[secret, 7 bytes]");
  EXPECT_TRUE(EqualConstantTime(Secret::Copy("a"), Secret::Copy("a")));
  EXPECT_FALSE(EqualConstantTime(Secret::Copy("a"), Secret::Copy("b")));
}

TEST(SecretTest, TakeWipesTheSource) {
  std::string text = "a secret that is long enough to live on the heap";
  const Secret secret = Secret::Take(std::move(text));
  EXPECT_EQ(text, "");
  EXPECT_EQ(secret.Reveal(SecretReveal{}).substr(0, 8), "a secret");
}

TEST(TextTest, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(EscapeText("\x1b[2J", 100), "\\x1b[2J");
  EXPECT_EQ(EscapeText("a\xe2\x80\xae" "b", 100), "a\\u{202e}b");
  EXPECT_EQ(EscapeText("\xff\xc0\x80", 100), "\\xff\\xc0\\x80");
  EXPECT_EQ(EscapeText("gr\xc3\xbc\xc3\x9f", 100), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(EscapeText(std::string(50, 'a'), 10), "aaaaaaaaaa...[50 bytes]");
}

TEST(TextTest, Base64IsStrict) {
  std::string out;
  for (const std::string text : {"", "f", "fo", "foo", "foob", "\xff\xfe"}) {
    ASSERT_TRUE(Base64UrlDecode(Base64UrlEncode(text), &out));
    EXPECT_EQ(out, text);
    ASSERT_TRUE(Base64Decode(Base64Encode(text), &out));
    EXPECT_EQ(out, text);
  }
  EXPECT_FALSE(Base64UrlDecode("Zg==", &out));  // padding
  EXPECT_FALSE(Base64UrlDecode("Zh", &out));    // bits left over
  EXPECT_FALSE(Base64Decode("Z+==", &out));
  EXPECT_TRUE(Base64Decode("Zg", &out));
  EXPECT_FALSE(Base64UrlDecode("Zg/_", &out));
}

TEST(FileTest, ModeHoldsUnderAnyUmask) {
  const std::string folder = testing::TempDir() + RandomId("file-");
  const mode_t old = umask(0);
  ASSERT_THAT(MakeFolder(folder + "/deep", 0700), IsOk());
  ASSERT_THAT(WriteFileAtomic(folder + "/deep/key", "k", 0600), IsOk());
  umask(old);
  struct stat info;
  ASSERT_EQ(stat((folder + "/deep/key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(stat((folder + "/deep").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_THAT(CheckOwnership(folder + "/deep/key", Privacy::kPrivate), IsOk());
  ASSERT_EQ(chmod((folder + "/deep/key").c_str(), 0644), 0);
  EXPECT_THAT(CheckOwnership(folder + "/deep/key", Privacy::kPrivate), FailsWith(ErrorCode::kUnsafeFile));
  EXPECT_THAT(ReadFile(folder + "/deep/key", 0), FailsWith(ErrorCode::kTooLarge));
  EXPECT_THAT(ReadFile(folder + "/none", 10), FailsWith(ErrorCode::kFileUnreadable));
}

Task<int> Add(int a, int b) { co_return a + b; }
Task<absl::StatusOr<int>> AddTwice(int a) {
  const int once = co_await Add(a, a);
  const int twice = co_await Add(once, once);
  if (twice > 100) co_return Error(ErrorCode::kTooLarge);
  co_return twice;
}

TEST(TaskTest, PassesResultsUpTheChain) {
  Task<absl::StatusOr<int>> task = AddTwice(3);
  task.Start();
  ASSERT_TRUE(task.done());
  EXPECT_EQ(*task.Take(), 12);
}

}  // namespace
}  // namespace credbroker::base
