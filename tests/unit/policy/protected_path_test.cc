#include "policy/protected_path.h"

#include <gtest/gtest.h>

#include "kit/status_matchers.h"

namespace credbroker::policy {
namespace {

using Leaf = ProtectedPath::Leaf;

bool Covers(std::string_view pattern, std::string_view path, Leaf leaf = Leaf::kFile) {
  const auto parsed = ProtectedPath::Parse(pattern);
  EXPECT_TRUE(parsed.ok()) << pattern << parsed.status();
  return parsed.ok() && parsed->Covers(FoldedPath(path), leaf);
}

TEST(ProtectedPath, NamesAreProtectedInEveryFolderAndPathsFromTheRoot) {
  for (const char* path : {"CODEOWNERS", ".github/CODEOWNERS", "docs/a/CODEOWNERS", "CODEOWNERS/x"}) EXPECT_TRUE(Covers("CODEOWNERS", path)) << path;
  for (const char* path : {"CODEOWNERS.md", "xCODEOWNERS", "src/x"}) EXPECT_FALSE(Covers("CODEOWNERS", path)) << path;
  EXPECT_TRUE(Covers("/Makefile", "Makefile"));
  EXPECT_FALSE(Covers("/Makefile", "src/Makefile"));
  EXPECT_TRUE(Covers("ci/", "ci/x/y"));
  EXPECT_TRUE(Covers("ci/", "a/ci"));
  EXPECT_TRUE(Covers("a/b", "a/b/c/d"));
  EXPECT_FALSE(Covers("a/b", "x/a/b"));
  EXPECT_TRUE(Covers("**/deploy/*.yml", "deploy/a.yml"));
  EXPECT_TRUE(Covers("**/deploy/*.yml", "x/y/deploy/a.yml"));
  EXPECT_FALSE(Covers("**/deploy/*.yml", "x/deploy/y/a.yml"));
  EXPECT_TRUE(Covers("a/**/z", "a/z"));
  EXPECT_TRUE(Covers("a/**/z", "a/b/c/z/more"));
  EXPECT_TRUE(Covers(".github/workflows/**", ".github/workflows/ci.yml"));
  EXPECT_TRUE(Covers(".github/workflows/**", ".github/workflows"));
  EXPECT_FALSE(Covers(".github/workflows/**", ".github/dependabot.yml"));
  EXPECT_TRUE(Covers("**", "anything/at all"));
}

TEST(ProtectedPath, SpellingsThatAFileSystemTakesForTheSameAreProtected) {
  for (const char* path : {"codeowners", "CodeOwners", "CODEOWNERS.", "CODEOWNERS ", "CODE\xE2\x80\x8BOWNERS", "CODE\xE2\x80\x8COWNERS",
                           "CODEOWNER\xC5\xBF", "CODEOWNERS::$DATA"}) {
    const bool ignored = std::string_view(path).find("\x8B") == std::string_view::npos;  // U+200B is a character of its own
    EXPECT_EQ(Covers("CODEOWNERS", path), ignored) << path;
  }
  EXPECT_TRUE(Covers(".github/workflows/**", ".GitHub/WorKflow\xC5\xBF/x"));
  EXPECT_TRUE(Covers(".github/workflows/**", ".github/wor\xE2\x84\xAA" "flows/x"));
}

TEST(ProtectedPath, ALinkOnTheWayCounts) {
  EXPECT_TRUE(Covers(".github/workflows/**", ".github", Leaf::kLink));
  EXPECT_FALSE(Covers(".github/workflows/**", ".github", Leaf::kFile));
  EXPECT_FALSE(Covers(".github/workflows/**", "src", Leaf::kLink));
  EXPECT_TRUE(Covers(".github/*/x", ".github/y", Leaf::kLink));
  EXPECT_FALSE(Covers("CODEOWNERS", "docs", Leaf::kLink)) << "a name that holds everywhere would forbid every link";
}

TEST(ProtectedPath, SaysWhereItNeedNotLook) {
  const auto may = [](std::string_view pattern, std::string_view folder) { return ProtectedPath::Parse(pattern)->MayCover(FoldedPath(folder)); };
  EXPECT_TRUE(may(".github/workflows/**", ""));
  EXPECT_TRUE(may(".github/workflows/**", ".GITHUB"));
  EXPECT_TRUE(may(".github/workflows/**", ".github/workflows/deep"));
  EXPECT_FALSE(may(".github/workflows/**", "src"));
  EXPECT_FALSE(may(".github/workflows/**", ".github/other"));
  EXPECT_TRUE(may("CODEOWNERS", "src/deep"));
  EXPECT_TRUE(may("a/b", "a/b/c"));
}

TEST(ProtectedPath, RefusesWhatNoPathCouldBe) {
  for (const char* text : {"", "/", "a//b", "../x", "a/./b", "a**", "a/**b", "a\\b", "a\nb", "a/../b"}) {
    EXPECT_FALSE(ProtectedPath::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(ProtectedPath::Parse(std::string(513, 'a')).ok());
  std::string deep = "a";
  for (int i = 0; i < 31; ++i) deep += "/a";
  EXPECT_TRUE(ProtectedPath::Parse(deep).ok());
  EXPECT_FALSE(ProtectedPath::Parse(deep + "/a").ok());
}

}  // namespace
}  // namespace credbroker::policy
