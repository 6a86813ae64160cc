#include "policy/catalogue.h"

#include <gtest/gtest.h>

#include <set>

#include "base/str.h"
#include "fixture.h"

namespace credbroker::policy {
namespace {

std::string ClassOf(Preset preset, std::string_view method, std::string_view path) {
  const auto operation = Classify(preset, method, path);
  return operation ? std::string(operation->effect_class) : "unknown";
}

TEST(CatalogueTest, EveryRowCanBeReachedByItsOwnPath) {
  for (const CatalogueRow& row : Catalogue()) {
    std::string path(row.path);
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"{owner}", "o"},
                                   {"{repo}", "r"},
                                   {"{x...}", "p/q"},
                                   {"{x}", "w"},
                                   {"{n}", "42"},
                                   {"{basehead...}", "main...x"},
                                   {"{project}", "o%2Fr"}}) {
      for (std::size_t at = path.find(from); at != std::string::npos; at = path.find(from))
        path.replace(at, from.size(), to);
    }
    EXPECT_EQ(ClassOf(row.preset, row.method, path), row.effect_class) << row.method << " " << path;
  }
}

TEST(CatalogueTest, NoOperationStandsTwice) {
  std::set<std::string> seen;
  for (const CatalogueRow& row : Catalogue())
    EXPECT_TRUE(seen.insert(base::StrCat(PresetName(row.preset), " ", row.method, " ", row.path)).second) << row.path;
}

TEST(CatalogueTest, ANumberMayNameTheRepository) {
  const auto github = Classify(Preset::kGithub, "GET", "/repositories/17/issues");
  ASSERT_TRUE(github);
  EXPECT_TRUE(github->by_id);
  EXPECT_EQ(github->repository, "17");
  const auto gitlab = Classify(Preset::kGitlab, "GET", "/projects/17/issues");
  ASSERT_TRUE(gitlab);
  EXPECT_TRUE(gitlab->by_id);
  EXPECT_TRUE(Classify(Preset::kGitlab, "GET", "/projects/a%2Fb%2Fc/issues")->encoded);
  EXPECT_EQ(ClassOf(Preset::kBitbucket, "PUT", "/repositories/a/b/pullrequests/1"), "write.pull_request");
}

TEST(CatalogueTest, ACompareReachesNoFork) {
  EXPECT_EQ(ClassOf(Preset::kGithub, "GET", "/repos/o/r/compare/main...other:main"), "unknown");
  EXPECT_EQ(ClassOf(Preset::kGithub, "GET", "/repos/o/r/compare/main...other%3Amain"), "unknown");
}

TEST(CatalogueTest, ABranchNameDoesNotChangeTheClass) {
  EXPECT_EQ(ClassOf(Preset::kGithub, "GET", "/repos/o/r/branches/a/b"), "read");
  EXPECT_EQ(ClassOf(Preset::kGithub, "GET", "/repos/o/r/branches/a/protection"), "read-sensitive");
  EXPECT_EQ(ClassOf(Preset::kGithub, "GET", "/repos/o/r/branches/protection"), "read");
  EXPECT_EQ(ClassOf(Preset::kGithub, "PUT", "/repos/o/r/branches/a/b/protection"), "protect");
  EXPECT_EQ(ClassOf(Preset::kGithub, "PUT", "/repos/o/r/branches/protection"), "unknown");
}

TEST(CatalogueTest, OddShapesAreUnknown) {
  for (const char* path : {"", "/", "repos/o/r", "/repos", "/repos/", "/repos/o", "/repos/o/", "/repos/o/r/",
                           "/repos/o/r/issues/", "/repos/o/r/issues/x", "/repos/o/r/issues/1/2", "/repos/o/r/contents/",
                           "/repos/o/r/contents/a/", "/Repos/o/r", "/repos/o/r/Issues", "/repositories/x"}) {
    EXPECT_EQ(ClassOf(Preset::kGithub, "GET", path), "unknown") << path;
  }
  EXPECT_EQ(ClassOf(Preset::kGithub, "get", "/repos/o/r"), "unknown");
  EXPECT_EQ(ClassOf(Preset::kGithub, "OPTIONS", "/repos/o/r"), "unknown");
  EXPECT_EQ(ClassOf(Preset::kGitlab, "GET", "/repos/o/r"), "unknown");
  EXPECT_EQ(ClassOf(Preset::kGitea, "PUT", "/repos/o/r/pulls/1/merge"), "unknown");
}

TEST(CatalogueTest, ThePathNamesTheRepository) {
  EXPECT_EQ(Classify(Preset::kGithub, "GET", "/repos/O/r.x/issues/1")->repository, "O/r.x");
  EXPECT_EQ(Classify(Preset::kGithub, "GET", "/repos/o/r")->repository, "o/r");
  EXPECT_EQ(Classify(Preset::kGithub, "GET", "/rate_limit")->repository, "");
}

TEST(CatalogueTest, OnlyReadsAndWritesAreOrdinary) {
  const std::set<std::string_view> ordinary = {"read",        "read-host",       "write.issue",        "write.label",
                                               "write.milestone", "write.comment", "write.pull_request", "write.git_object"};
  for (const CatalogueRow& row : Catalogue())
    EXPECT_EQ(IsOrdinary(row.effect_class), ordinary.contains(row.effect_class)) << row.effect_class;
  EXPECT_TRUE(Covers("write", "write.issue"));
  EXPECT_FALSE(Covers("write.issue", "write"));
  EXPECT_FALSE(Covers("read", "read-sensitive"));
  EXPECT_FALSE(Covers("write.iss", "write.issue"));
  EXPECT_FALSE(IsKnownClass("wri"));
}

TEST(CatalogueTest, PrefixesFollowTheHosts) {
  const auto rules = Fixture();
  const Service& ghe = rules->services().at("ghe");
  EXPECT_TRUE(ClassifyOn(ghe, ghe.hosts[0], "GET", "/api/v3/repos/o/r"));
  EXPECT_TRUE(ClassifyOn(ghe, ghe.hosts[0], "GET", "/repos/o/r"));
  EXPECT_FALSE(ClassifyOn(ghe, ghe.hosts[0], "GET", "/api/v3x/repos/o/r"));
  EXPECT_FALSE(ClassifyOn(ghe, ghe.hosts[0], "GET", "/rate_limit"));
  EXPECT_EQ(ClassifyOn(ghe, ghe.hosts[0], "POST", "/api/graphql")->effect_class, "graphql");
  const Service& github = rules->services().at("github");
  EXPECT_FALSE(ClassifyOn(github, github.hosts[0], "GET", "/repos/o/r"));
  EXPECT_TRUE(ClassifyOn(github, github.hosts[1], "GET", "/repos/o/r"));
}

}  // namespace
}  // namespace credbroker::policy
