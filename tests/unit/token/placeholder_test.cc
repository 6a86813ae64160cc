#include "token/mint/placeholder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "token/placeholder.h"
#include "token/verify.h"

namespace credbroker::token {
namespace {

const struct {
  PlaceholderKind kind;
  const char* shape;
} kShapes[] = {
    {PlaceholderKind::kGithub, "ghp_[a-z0-9]+"},
    {PlaceholderKind::kOpenai, "sk-proj-[a-z0-9]+"},
    {PlaceholderKind::kAnthropic, "sk-ant-api03-[a-z0-9]+AA"},
    {PlaceholderKind::kAwsKeyId, "AKIA[A-Z2-7]+"},
    {PlaceholderKind::kAwsSecret, "[a-z0-9]+"},
    {PlaceholderKind::kGeneric, "cbp_[a-z0-9]+"},
};

TEST(PlaceholderTest, HasTheShapeOfItsProvider) {
  for (const auto& test : kShapes) {
    EXPECT_THAT(MakePlaceholder(test.kind, "s-1"), testing::MatchesRegex(test.shape));
  }
  EXPECT_EQ(MakePlaceholder(PlaceholderKind::kGithub, "s-1").size(), 40u);
  EXPECT_EQ(MakePlaceholder(PlaceholderKind::kAwsKeyId, "s-1").size(), 20u);
  EXPECT_EQ(MakePlaceholder(PlaceholderKind::kAwsSecret, "s-1").size(), 40u);
  EXPECT_EQ(MakePlaceholder(PlaceholderKind::kAnthropic, "s-1").size(), 108u);
}

TEST(PlaceholderTest, IsRecognisedAndDiffersBySession) {
  for (const auto& test : kShapes) {
    const std::string text = MakePlaceholder(test.kind, "s-1");
    EXPECT_TRUE(IsPlaceholder(text)) << text;
    EXPECT_EQ(text, MakePlaceholder(test.kind, "s-1"));
    EXPECT_NE(text, MakePlaceholder(test.kind, "s-2"));
    EXPECT_FALSE(LooksLikeToken(text));
  }
}

TEST(PlaceholderTest, AnyChangeMakesItAForeignCredential) {
  for (const auto& test : kShapes) {
    const std::string text = MakePlaceholder(test.kind, "s-1");
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] = changed[i] == 'b' ? 'c' : 'b';
      EXPECT_FALSE(IsPlaceholder(changed)) << changed;
      EXPECT_FALSE(IsPlaceholder(text.substr(0, i)));
    }
    EXPECT_FALSE(IsPlaceholder(text + "a"));
  }
  EXPECT_FALSE(IsPlaceholder("ghp_0123456789abcdefghijABCDEFGHIJ012345"));
  EXPECT_FALSE(IsPlaceholder("AKIAIOSFODNN7EXAMPLE"));
}

}  // namespace
}  // namespace credbroker::token
