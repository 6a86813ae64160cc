#include "policy/pattern.h"

#include <gtest/gtest.h>

#include "kit/status_matchers.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;

struct Match {
  const char* pattern;
  const char* text;
  bool matches;
};

TEST(RefPatternTest, MatchesSegmentsByteForByte) {
  const Match rows[] = {
      {"refs/heads/main", "refs/heads/main", true},
      {"refs/heads/main", "refs/heads/Main", false},
      {"refs/heads/main", "refs/heads/main/x", false},
      {"refs/heads/main", "refs/heads/xmain", false},
      {"refs/heads/agent/*", "refs/heads/agent/x", true},
      {"refs/heads/agent/*", "refs/heads/agent/x/y", false},
      {"refs/heads/agent/*", "refs/heads/agent", false},
      {"refs/heads/agent/**", "refs/heads/agent/x/y", true},
      {"refs/heads/agent/**", "refs/heads/agent", false},
      {"refs/heads/dep-*-up", "refs/heads/dep-a-b-up", true},
      {"refs/heads/dep-*-up", "refs/heads/dep-up", false},
      {"refs/heads/**/end", "refs/heads/a/b/end", true},
      {"refs/heads/**/end", "refs/heads/end", false},
      {"refs/heads/**/end", "refs/heads/a/end/b/end", true},
      {"refs/heads/{session}/x", "refs/heads/s1/x", true},
      {"refs/heads/{session}/x", "refs/heads/s2/x", false},
      {"refs/heads/a-{session}-*", "refs/heads/a-s1-z", true},
      {"refs/**", "refs/heads/x", true},
      {"refs/**", "refs/tags/x", true},
      {"refs/**", "refs/pull/1/head", false},
      {"refs/*/x", "refs/for/x", false},
      {"refs/notes/**", "refs/notes/x", true},
  };
  for (const Match& row : rows) {
    ASSERT_OK_AND_ASSIGN(const RefPattern pattern, RefPattern::Parse(row.pattern));
    EXPECT_EQ(pattern.Matches(row.text, "s1"), row.matches) << row.pattern << " " << row.text;
  }
}

TEST(RefPatternTest, SessionIsDataAndNeverAPattern) {
  ASSERT_OK_AND_ASSIGN(const RefPattern pattern, RefPattern::Parse("refs/heads/agent/{session}/x"));
  EXPECT_FALSE(pattern.Matches("refs/heads/agent/other/x", "*"));
  EXPECT_FALSE(pattern.Matches("refs/heads/agent/a/b/x", "a/b"));
  EXPECT_FALSE(pattern.Matches("refs/heads/agent//x", ""));
  EXPECT_EQ(pattern.Filled("s1"), "refs/heads/agent/s1/x");
}

TEST(RefPatternTest, RefusesWhatCouldBeReadTwoWays) {
  for (const char* text : {"", "main", "heads/x", "refs/", "refs/heads", "refs/heads/", "refs/heads//x",
                           "refs/heads/a**", "refs/heads/[ab]", "refs/heads/a?", "refs/heads/{user}/x",
                           "refs/heads/{session", "refs/heads/a b", "refs/heads/../x", "^refs/heads/x$"}) {
    EXPECT_THAT(RefPattern::Parse(text), FailsWith(ErrorCode::kBadArgument)) << text;
  }
}

TEST(RefPatternTest, ManyStarsStayQuick) {
  std::string text = "refs/heads";
  for (int i = 0; i < 12; ++i) text += "/**/a*a*a*";
  EXPECT_THAT(RefPattern::Parse(text), FailsWith(ErrorCode::kBadArgument));  // more than 32 segments
  ASSERT_OK_AND_ASSIGN(const RefPattern pattern, RefPattern::Parse("refs/heads/**/a*a*a*a*b/**/a*a*a*a*b"));
  std::string ref = "refs/heads";
  for (int i = 0; i < 20; ++i) ref += "/" + std::string(45, 'a');
  EXPECT_FALSE(pattern.Matches(ref, "s1"));
}

TEST(PathPatternTest, MatchesCanonicalPaths) {
  const Match rows[] = {
      {"/v1/messages", "/v1/messages", true},
      {"/v1/messages", "/v1/messages/", false},
      {"/v1/messages", "/V1/messages", false},
      {"/v1/*", "/v1/x", true},
      {"/v1/*", "/v1/", false},
      {"/v1/*", "/v1/x/y", false},
      {"/v1/**", "/v1", true},
      {"/v1/**", "/v1/x/y", true},
      {"/v1/**", "/v12", false},
      {"/**", "/", true},
      {"/", "/", true},
      {"/", "/x", false},
      {"/a/**/z", "/a/z", true},
      {"/a/**/z", "/a/b/c/z", true},
      {"/a/**/z", "/a/z/y", false},
      {"/m/gemini-*:run", "/m/gemini-2:run", true},
      {"/f/%C3%BC", "/f/%c3%bc", true},
      {"/f/a!b", "/f/a%21b", true},
  };
  for (const Match& row : rows) {
    ASSERT_OK_AND_ASSIGN(const PathPattern pattern, PathPattern::Parse(row.pattern));
    EXPECT_EQ(pattern.Matches(row.text), row.matches) << row.pattern << " " << row.text;
  }
}

TEST(PathPatternTest, LooseComparisonIgnoresCaseAndFinalSlash) {
  ASSERT_OK_AND_ASSIGN(const PathPattern pattern, PathPattern::Parse("/Admin/*", PathPattern::Comparison::kLoose));
  for (const char* path : {"/admin/x", "/ADMIN/x", "/admin/x/", "/admin/%C3%BC"})
    EXPECT_TRUE(pattern.Matches(path)) << path;
  EXPECT_FALSE(pattern.Matches("/admins/x"));
}

TEST(PathPatternTest, RefusesWhatNoCanonicalPathMatches) {
  for (const char* text : {"", "v1", "/a//b", "/a/../b", "/a/%2e", "/a;b", "/a**", "/a/***"})
    EXPECT_THAT(PathPattern::Parse(text), testing::Not(testing_kit::IsOk())) << text;
}

TEST(RepositoryPatternTest, ComparesWithoutCaseAndSuffix) {
  const Match rows[] = {
      {"Acme/Web.git", "acme/WEB", true},   {"acme/web", "acme/webx", false},
      {"acme/web", "acme/web.wiki", false}, {"acme/web.wiki", "acme/web.wiki", true},
      {"acme/*", "ACME/x", true},           {"acme/*", "acme/x.wiki", false},
      {"acme/*", "acme/x.WIKI", false},     {"acme/*", "acme/a/b", false},
      {"acme/*", "acmes/x", false},         {"acme/*", "acme/", false},
      {"acme/web", "acme/web.git", false},
  };
  for (const Match& row : rows) {
    ASSERT_OK_AND_ASSIGN(const RepositoryPattern pattern, RepositoryPattern::Parse(row.pattern, 2, 2));
    EXPECT_EQ(pattern.Matches(row.text), row.matches) << row.pattern << " " << row.text;
  }
  for (const char* text : {"", "acme", "*/*", "acme/w*", "acme/..", "acme//x", "a/b/c", "acme/w b", "ac%2fme/x"}) {
    EXPECT_THAT(RepositoryPattern::Parse(text, 2, 2), FailsWith(ErrorCode::kBadArgument)) << text;
  }
}

TEST(IsPlainRefTest, RefusesOddNames) {
  for (const char* ref : {"refs/heads/main", "refs/tags/v1.2", "refs/heads/größe", "refs/heads/a-b_c+d"})
    EXPECT_TRUE(IsPlainRef(ref)) << ref;
  for (const char* ref : {"",
                          "HEAD",
                          "main",
                          "refs/heads",
                          "refs/heads/",
                          "refs/heads/a..b",
                          "refs/heads/.a",
                          "refs/heads/a.",
                          "refs/heads/a.lock",
                          "refs/heads/a/",
                          "refs/heads//a",
                          "refs/heads/a b",
                          "refs/heads/a\tb",
                          "refs/heads/a\x7f",
                          "refs/heads/a~1",
                          "refs/heads/a^",
                          "refs/heads/a:b",
                          "refs/heads/a?",
                          "refs/heads/a*",
                          "refs/heads/a[b",
                          "refs/heads/a\\b",
                          "refs/heads/a@{1}",
                          "refs/heads/@",
                          "refs/heads/HEAD",
                          "refs/heads/-x",
                          "refs/heads/refs/heads/main",
                          "refs/heads/0123456789012345678901234567890123456789",
                          "refs/heads/a\xff",
                          "refs/heads/a\xe2\x80\xae",
                          "refs/heads/../main"}) {
    EXPECT_FALSE(IsPlainRef(ref)) << ref;
  }
  EXPECT_FALSE(IsPlainRef(std::string_view("refs/heads/a\0b", 14)));
  EXPECT_FALSE(IsPlainRef("refs/heads/" + std::string(1100, 'a')));
}

}  // namespace
}  // namespace credbroker::policy
