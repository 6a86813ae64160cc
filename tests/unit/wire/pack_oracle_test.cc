#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "git_repository.h"
#include "kit/status_matchers.h"
#include "wire/pack_commits.h"

// What real git writes and says, against what we read and say.
namespace credbroker::wire {
namespace {

using testing_kit::IsOk;

struct Step {
  int number;
  std::vector<int> parents;
};

// A line with two merges (one of three parents), a branch that was rebased, an orphan, and a branch merged twice.
const std::vector<Step> kHistory = {{1, {}},    {2, {1}},          {3, {2}},    {4, {2}},  {5, {3, 4}},   {6, {5}},
                                    {7, {4}},   {8, {7}},          {9, {6, 8}}, {10, {3}}, {11, {10}},    {12, {}},
                                    {13, {12}}, {14, {9, 11, 13}}, {15, {14}},  {16, {8}}, {17, {15, 16}}};

class PackOracle : public testing::TestWithParam<const char*> {
 protected:
  // A step's branch is b<number>. Messages are long and alike, so that git stores commits as deltas.
  void Import(const std::vector<Step>& history) {
    std::ostringstream stream;
    for (const Step& step : history) {
      std::string message = "step " + std::to_string(step.number) + "\n";
      for (int line = 0; line < 40; ++line) message += "a line that all messages share " + std::to_string(line) + "\n";
      const std::string text = "content " + std::to_string(step.number);
      if (step.parents.empty()) stream << "reset refs/heads/b" << step.number << "\n";
      stream << "commit refs/heads/b" << step.number << "\nmark :" << step.number << "\ncommitter a <a@host.test> "
             << 1000 + step.number << " +0000\ndata " << message.size() << "\n"
             << message;
      for (std::size_t i = 0; i < step.parents.size(); ++i)
        stream << (i == 0 ? "from :" : "merge :") << step.parents[i] << "\n";
      stream << "M 100644 inline f" << step.number % 5 << "\ndata " << text.size() << "\n" << text << "\n";
    }
    git_.Git("fast-import --quiet --force", stream.str());
    for (const Step& step : history) ids_[step.number] = git_.Id("refs/heads/b" + std::to_string(step.number));
  }

  std::string Pack(const std::string& revisions, const std::string& options) {
    return git_.Git("pack-objects -q --revs --stdout " + options, revisions);
  }

  ObjectFormat format() const { return git_.id_digits() == 40 ? ObjectFormat::kSha1 : ObjectFormat::kSha256; }

  // Fed in pieces of an odd size.
  void Read(PackCommits& commits, const std::string& pack) {
    for (std::size_t at = 0; at < pack.size(); at += 777) ASSERT_THAT(commits.Feed(pack.substr(at, 777)), IsOk());
    ASSERT_THAT(commits.Finish(), IsOk());
  }

  GitRepository git_{GetParam()};
  std::map<int, std::string> ids_;
};

// Git is the oracle here; one that does not know the object format (SHA-256 before 2.29) cannot be asked.
#define NEED_GIT()                                                          \
  if (!git_.ok()) {                                                         \
    std::cout << "no git that knows this object format: not compared\n";    \
    return;                                                                 \
  }

// A pack of what `new` has and `old` has not holds each step between them, so the answers must be the same.
TEST_P(PackOracle, SaysWhatMergeBaseSays) {
  NEED_GIT();
  Import(kHistory);
  const std::vector<std::string> variants = {"", "--thin", "--delta-base-offset", "--thin --delta-base-offset"};
  int proven = 0, asked = 0;
  for (const int newer : {5, 9, 14, 17, 11, 16, 13}) {
    for (const int older : {1, 2, 3, 4, 8, 10, 12, 16}) {
      if (newer == older) continue;
      const std::string& new_id = ids_[newer];
      const std::string& old_id = ids_[older];
      PackCommits commits(format(), {});
      Read(commits,
           Pack(new_id + "\n^" + old_id + "\n", variants[static_cast<std::size_t>(asked++) % variants.size()]));
      const bool truth = git_.Succeeds("merge-base --is-ancestor " + old_id + " " + new_id);
      EXPECT_EQ(commits.Descends(new_id, old_id), truth) << older << " .. " << newer;
      proven += truth ? 1 : 0;
    }
  }
  EXPECT_GT(proven, 10);
  EXPECT_GT(asked - proven, 10);
}

// A pack of anything else may prove less, but never more.
TEST_P(PackOracle, NeverProvesMoreThanGit) {
  NEED_GIT();
  Import(kHistory);
  std::map<std::string, std::set<std::string>> ancestors;  // itself too
  for (const auto& [number, id] : ids_) {
    std::istringstream list(git_.Git("rev-list " + id));
    for (std::string line; std::getline(list, line);) ancestors[id].insert(line);
  }
  for (const std::string& revisions :
       {std::string(), ids_[17] + "\n^" + ids_[9] + "\n", ids_[11] + "\n" + ids_[16] + "\n^" + ids_[2] + "\n"}) {
    PackCommits commits(format(), {});
    Read(commits, Pack(revisions, revisions.empty() ? "--all --delta-base-offset" : "--thin --delta-base-offset"));
    for (const auto& [newer, new_id] : ids_) {
      for (const auto& [older, old_id] : ids_) {
        const bool truth = new_id != old_id && ancestors[new_id].contains(old_id);
        const bool proven = commits.Descends(new_id, old_id);
        EXPECT_FALSE(proven && !truth) << older << " .. " << newer;
        EXPECT_FALSE(truth && !proven && revisions.empty()) << older << " .. " << newer;
      }
    }
  }
}

TEST_P(PackOracle, RebuildsEachCommitThatGitStoresAsADelta) {
  NEED_GIT();
  std::vector<Step> line = {{1, {}}};
  for (int i = 2; i <= 120; ++i) line.push_back({i, {i - 1}});
  Import(line);
  for (const std::string options : {"", "--delta-base-offset", "--window=100 --depth=200"}) {
    const std::string pack = Pack("", "--all " + options);
    git_.Git("index-pack --stdin", pack);
    const std::string verified = git_.Git("verify-pack -v objects/pack/*.idx");
    std::istringstream objects(verified);
    int deltas = 0;
    for (std::string id, kind, line_end; objects >> id >> kind; std::getline(objects, line_end)) {
      std::istringstream fields(line_end);
      const auto count = std::distance(std::istream_iterator<std::string>(fields), {});
      deltas += kind == "commit" && count == 5 ? 1 : 0;  // size, packed size, offset, depth, base
    }
    EXPECT_GT(deltas, 50) << "the test must reach deltas";
    PackCommits commits(format(), {.max_delta_depth = 200});
    Read(commits, pack);
    EXPECT_EQ(commits.commit_count(), 120u) << options;
    EXPECT_TRUE(commits.Descends(ids_[120], ids_[1]));
    EXPECT_FALSE(commits.Descends(ids_[1], ids_[120]));
  }
}

TEST_P(PackOracle, DoesNotFollowTags) {
  NEED_GIT();
  Import({{1, {}}, {2, {1}}});
  git_.Git("tag -a -m inner inner b2");
  git_.Git("tag -a -m outer outer inner");
  PackCommits commits(format(), {});
  Read(commits, Pack("", "--all"));
  EXPECT_EQ(commits.commit_count(), 2u);
  EXPECT_TRUE(commits.Descends(ids_[2], ids_[1]));
  for (const std::string tag : {"inner", "outer"}) {
    EXPECT_FALSE(commits.Descends(git_.Id(tag), ids_[1])) << tag;
    EXPECT_FALSE(commits.Descends(ids_[2], git_.Id(tag))) << tag;
  }
  EXPECT_FALSE(commits.Descends(git_.Id("outer"), git_.Id("inner")));
}

TEST_P(PackOracle, AGraftedOrReplacedHistoryIsReadAsItIsSent) {
  NEED_GIT();
  Import({{1, {}}, {2, {1}}, {3, {}}});
  // Git now says that 3 descends from 1, but the commit that goes over the wire does not.
  git_.Git("replace --graft " + ids_[3] + " " + ids_[2]);
  ASSERT_TRUE(git_.Succeeds("merge-base --is-ancestor " + ids_[1] + " " + ids_[3]));
  PackCommits commits(format(), {});
  Read(commits, Pack(ids_[3] + "\n" + ids_[2] + "\n", ""));
  EXPECT_FALSE(commits.Descends(ids_[3], ids_[1]));
  EXPECT_TRUE(commits.Descends(ids_[2], ids_[1]));
}

TEST_P(PackOracle, AnEmptyPackIsWhole) {
  NEED_GIT();
  Import({{1, {}}, {2, {1}}});
  PackCommits commits(format(), {});
  Read(commits, Pack(ids_[1] + "\n^" + ids_[2] + "\n", "--thin"));
  EXPECT_EQ(commits.commit_count(), 0u);
  EXPECT_FALSE(commits.Descends(ids_[2], ids_[1]));
}

INSTANTIATE_TEST_SUITE_P(Formats, PackOracle, testing::Values("sha1", "sha256"),
                         [](const auto& about) { return std::string(about.param); });

}  // namespace
}  // namespace credbroker::wire
