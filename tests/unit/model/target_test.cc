#include "model/target.h"

#include "kit/status_matchers.h"

namespace credbroker::model {
namespace {

using testing_kit::FailsWith;
using testing_kit::IsOk;
using Operation = GitFacts::Operation;

// B27, field.md 8, 9, 13, 15.
TEST(PathTest, RefusesEveryPathWithTwoReadings) {
  for (const char* path : {"", "x", "/repos/o/a/../b", "/repos/o/a/%2e%2e/b", "/repos/o/a//../b", "/repos/o/a/./x", "/repos/o/a;x/../b", "/repos/o/a/..\\b", "//o/r",
                           "/a/%2E%2e", "/a/%2fb", "/a/%5cb", "/a/%00", "/a/%0d", "/a/%", "/a/%4", "/a/%zz", "/a/%61", "/a b", "/a#b", "/\xc3\xa9", "/a/..", "/a/%252e", "/a%3bx", "/a?b"}) {
    EXPECT_THAT(CheckPath(path), FailsWith(base::ErrorCode::kBadPath)) << path;
  }
  for (const char* path : {"/", "/a", "/a/", "/repos/o/a.b/x-y_z~", "/a/...", "/a/%20b", "/@scope%40/x", "/a:b/c=d,e"}) EXPECT_THAT(CheckPath(path), IsOk()) << path;
}

TEST(QueryTest, GivesNamesOnly) {
  EXPECT_THAT(QueryNames("access_token=T&code=C&&flag"), testing::ElementsAre("access_token", "code", "flag"));
  EXPECT_THAT(QueryNames(""), testing::IsEmpty());
}

TEST(GitTest, ReadsSmartHttpAndNothingElse) {
  const struct { const char* method; const char* target; Operation operation; const char* repository; } kCases[] = {
      {"GET", "/o/r.git/info/refs?service=git-upload-pack", Operation::kDiscoverFetch, "o/r"},
      {"GET", "/o/r/info/refs?service=git-receive-pack", Operation::kDiscoverPush, "o/r"},
      {"POST", "/g/s/r.git/git-upload-pack", Operation::kFetch, "g/s/r"},
      {"POST", "/o/r.git/git-receive-pack", Operation::kPush, "o/r"},
      {"GET", "/o/r.git/info/refs", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.git/info/refs?service=git-upload-pack&service=git-receive-pack", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.git/info/refs?service=git-receive-pack&x", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.git/git-receive-pack", Operation::kUnsupported, "o/r"},
      {"POST", "/o/r.git/git-receive-pack?x", Operation::kUnsupported, "o/r"},
      {"POST", "/o/r.git/git-upload-archive", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.wiki.git/info/refs?service=git-upload-pack", Operation::kDiscoverFetch, "o/r.wiki"},
  };
  for (const auto& c : kCases) {
    const Target target = SplitTarget(c.target);
    const auto git = DescribeGit(c.method, target.path, target.query);
    ASSERT_TRUE(git.has_value()) << c.target;
    EXPECT_EQ(git->operation, c.operation) << c.target;
    EXPECT_EQ(git->repository, c.repository) << c.target;
  }
  EXPECT_FALSE(DescribeGit("GET", "/o/r/pulls", std::nullopt).has_value());
}

TEST(RepositoryTest, ComparesWithoutCaseAndSuffix) {
  EXPECT_EQ(CanonicalRepository("MyOrg/My.Repo.git"), "myorg/my.repo");
  EXPECT_NE(CanonicalRepository("myorg/my.repo.wiki.git"), CanonicalRepository("MyOrg/My.Repo"));
}

}  // namespace
}  // namespace credbroker::model
