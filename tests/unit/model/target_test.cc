#include "model/target.h"

#include "kit/status_matchers.h"

namespace credbroker::model {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;
using Operation = GitFacts::Operation;

TEST(PathTest, AcceptsCanonicalPaths) {
  for (const char* path :
       {"/", "/a", "/a/", "/a/b.git/info/refs", "/a/...", "/a/.hidden", "/a..b", "/%20", "/%C3%A4", "/a+b", "/~u",
        "/a:b@c", "/(x)", "/a,b", "/a=b", "/a&b", "/a'b", "/%5B1%5D", "/@scope%40x"}) {
    EXPECT_THAT(CheckPath(path), IsOk()) << path;
  }
}

// B27, CVE-2019-9901, CVE-2021-29492, CVE-2026-73553, CVE-2026-26205, CVE-2026-3605.
TEST(PathTest, RefusesPathsWithTwoReadings) {
  for (const char* path : {"",
                           "a",
                           "*",
                           "/repos/o/a/../b",
                           "/repos/o/a/%2e%2e/b",
                           "/repos/o/a/%2E./b",
                           "/repos/o/a/.%2e/b",
                           "/repos/o/a//../b",
                           "/repos/o/a/./x",
                           "/repos/o/a;x/../b",
                           "/repos/o/a/..\\b",
                           "/..",
                           "/.",
                           "/a/..",
                           "/a/.",
                           "/%2e",
                           "//a",
                           "/a//b",
                           "/a//",
                           "//",
                           "/a\\b",
                           "/a;b",
                           "/a;",
                           "/a%2fb",
                           "/a%2Fb",
                           "/a%5cb",
                           "/a%5C",
                           "/a%00",
                           "/a%0a",
                           "/a%0D",
                           "/a%1f",
                           "/a%7f",
                           "/a%09b",
                           "/a%",
                           "/a%2",
                           "/a%2g",
                           "/a%%20",
                           "/a%u002e",
                           "/%61",
                           "/a%2Db",
                           "/a%5Fb",
                           "/%7Eu",
                           "/a%3Bb",
                           "/a%3b",
                           "/a%3Fb",
                           "/a%23b",
                           "/a%252e",
                           "/a%25",
                           "/a b",
                           "/a#b",
                           "/a\"b",
                           "/a?b",
                           "/\xc3\xa4",
                           "/a\x01",
                           "/a\x7f"}) {
    EXPECT_THAT(CheckPath(path), FailsWith(ErrorCode::kBadPath)) << path;
  }
  EXPECT_THAT(CheckPath(std::string_view("/a\0b", 4)), FailsWith(ErrorCode::kBadPath));
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
      {"GET", "/o/r.git/HEAD", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.git/objects/00/11", Operation::kUnsupported, "o/r"},
      {"PUT", "/o/r.git/config", Operation::kUnsupported, "o/r"},
      {"POST", "/o/r.git/info/lfs/objects/batch", Operation::kLfsRead, "o/r"},
      {"POST", "/o/r/info/lfs/objects/batch", Operation::kLfsRead, "o/r"},
      {"POST", "/o/r.git/info/lfs/objects/batch?x", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.git/info/lfs/objects/batch", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.git/info/lfs/locks?path=x", Operation::kLfsRead, "o/r"},
      {"POST", "/o/r.git/info/lfs/locks", Operation::kLfsWrite, "o/r"},
      {"POST", "/o/r.git/info/lfs/locks/verify", Operation::kLfsCheck, "o/r"},
      {"POST", "/o/r.git/info/lfs/locks/7/unlock", Operation::kLfsWrite, "o/r"},
      {"POST", "/o/r.git/info/lfs/locks//unlock", Operation::kUnsupported, "o/r"},
      {"POST", "/o/r.git/info/lfs/locks/7/8/unlock", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.git/info/lfs/objects/aa?credbroker-lfs=x", Operation::kLfsRead, "o/r"},
      {"PUT", "/o/r.git/info/lfs/objects/aa?credbroker-lfs=x", Operation::kLfsWrite, "o/r"},
      {"GET", "/o/r.git/info/lfs/objects/aa", Operation::kUnsupported, "o/r"},
      {"GET", "/o/r.git/info/lfs", Operation::kUnsupported, "o/r"},
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
