#include "wire/push_walk.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <set>
#include <sstream>

#include "base/text.h"
#include "git_repository.h"
#include "kit/status_matchers.h"
#include "memory_store.h"
#include "pack_builder.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

std::string Raw(std::string_view hex) {
  std::string raw;
  EXPECT_TRUE(base::HexDecode(hex, &raw)) << hex;
  return raw;
}

struct Everything final : PathWatch {
  bool Below(std::string_view) const override { return true; }
  void Changed(std::string_view path, TreeEntry::Kind) override { paths.emplace(path); }
  std::set<std::string> paths;
};

struct Pack {
  Pack(ObjectFormat format, std::string text, const PackStoreLimits& limits = {}) : bytes(std::move(text)), store(format, limits) {
    read = ReadPack(bytes, store);
  }
  StoredPack stored() { return {&store, &bytes}; }
  MemoryStore bytes;
  PackStore store;
  absl::Status read;
};

absl::Status ReachAll(PushWalk& walk) {
  while (true) {
    const auto done = walk.Reach();
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
  }
}

// ---- real git as the oracle

class WalkOracle : public testing::TestWithParam<const char*> {
 protected:
  // A random history: files change, move, turn into folders and links, vanish; branches merge, some histories are orphans.
  // Commit n is branch b<n>. The same seed gives the same history.
  void Import(unsigned seed, int commits) {
    std::mt19937 random(seed);
    const auto pick = [&](unsigned below) { return random() % below; };
    const std::vector<std::string> names = {"a", "a.b", "b", "src/x", "src/y/z", "src/y", ".github/workflows/ci.yml", "CODEOWNERS", "d/e/f/g"};
    std::ostringstream out;
    for (int n = 1; n <= commits; ++n) {
      const bool orphan = n == 1 || pick(12) == 0;
      if (orphan) out << "reset refs/heads/b" << n << "\n";
      out << "commit refs/heads/b" << n << "\nmark :" << n << "\ncommitter a <a@host.test> " << 1000 + n << " +0000\ndata 2\nm\n";
      if (!orphan) {
        const unsigned first = 1 + pick(static_cast<unsigned>(n) - 1);
        out << "from :" << first << "\n";
        for (unsigned k = pick(8); k >= 6 && n > 3; --k) {
          const unsigned other = 1 + pick(static_cast<unsigned>(n) - 1);
          if (other != first) out << "merge :" << other << "\n";
        }
      }
      for (unsigned k = pick(4) + 1; k > 0; --k) {
        const std::string& name = names[pick(static_cast<unsigned>(names.size()))];
        const unsigned what = pick(10);
        if (what < 2) {
          out << "D " << name << "\n";
        } else if (what == 2) {
          out << "M 160000 " << std::string(git_.id_digits(), 'c') << " " << name << "\n";
        } else {
          std::string text = "line\n";
          for (unsigned line = 0; line < 60; ++line) text += std::to_string(line == pick(60) ? random() : line) + "\n";
          out << "M " << (what == 3 ? "120000" : what == 4 ? "100755" : "100644") << " inline " << name << "\ndata " << text.size() << "\n" << text << "\n";
        }
      }
    }
    git_.Git("fast-import --quiet --force", out.str());
  }

  std::vector<std::string> Lines(const std::string& arguments) {
    std::istringstream in(git_.Git(arguments));
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

  // What git says a commit changes: against all its parents at once.
  std::set<std::string> Truth(const std::string& commit) {
    const auto lines = Lines("-c core.quotePath=false diff-tree -r --root -c --no-renames --no-commit-id --name-only " + commit);
    return {lines.begin(), lines.end()};
  }

  ObjectFormat format() const { return git_.id_digits() == 40 ? ObjectFormat::kSha1 : ObjectFormat::kSha256; }
  GitRepository git_{GetParam()};
};

TEST_P(WalkOracle, FindsTheChangedPathsThatDiffTreeFinds) {
  if (!git_.ok()) {
    std::cout << "no git that knows this object format: not compared\n";
    return;
  }
  int compared = 0, merges = 0;
  for (const unsigned seed : {1u, 2u, 3u}) {
    Import(seed, 40);
    for (const std::string options : {"--all", "--all --delta-base-offset --depth=20 --window=20"}) {
      Pack pack(format(), git_.Git("pack-objects -q --stdout --revs " + options, ""));
      ASSERT_THAT(pack.read, IsOk());
      EXPECT_EQ(pack.store.unresolved(), 0u);
      PushWalk walk(pack.stored(), {});
      for (const std::string& tip : Lines("for-each-ref --format='%(objectname)'")) walk.AddTip(Raw(tip));
      ASSERT_THAT(ReachAll(walk), IsOk());
      EXPECT_TRUE(walk.outside().empty());
      for (const uint32_t commit : walk.commits()) {
        Everything watch;
        ASSERT_THAT(walk.Compare(commit, {}, watch), IsOk());
        const std::string id = base::HexEncode(pack.store.id(commit));
        EXPECT_EQ(watch.paths, Truth(id)) << id;
        ++compared;
        merges += Lines("rev-list --parents -1 " + id).front().size() > 2 * (git_.id_digits() + 1) ? 1 : 0;
      }
      EXPECT_TRUE(walk.missing().empty());
    }
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(merges, 10);
}

// As a push sends it: what one branch has and another has not, in a pack without bases outside; trees of the parents come from
// a pack of their own, as the host gives them.
TEST_P(WalkOracle, ReadsAPushBesideWhatTheHostHolds) {
  if (!git_.ok()) {
    std::cout << "no git that knows this object format: not compared\n";
    return;
  }
  Import(7, 60);
  int pushes = 0;
  for (int newer = 20; newer <= 60; newer += 5) {
    const std::string tip = git_.Id("b" + std::to_string(newer)), held = git_.Id("b" + std::to_string(newer / 2));
    Pack pack(format(), git_.Git("pack-objects -q --stdout --revs --delta-base-offset", tip + "\n^" + held + "\n"));
    ASSERT_THAT(pack.read, IsOk());
    PushWalk walk(pack.stored(), {});
    walk.AddTip(Raw(tip));
    ASSERT_THAT(ReachAll(walk), IsOk());
    const auto truth = Lines("rev-list " + tip + " ^" + held);
    EXPECT_EQ(walk.commits().size(), truth.size());
    std::string wanted;
    for (const std::string& id : walk.outside()) wanted += base::HexEncode(id) + "\n";
    Pack host(format(), git_.Git("pack-objects -q --stdout --revs --filter=blob:none", wanted));
    ASSERT_THAT(host.read, IsOk());
    for (const uint32_t commit : walk.commits()) {
      Everything watch;
      const StoredPack known[] = {host.stored()};
      ASSERT_THAT(walk.Compare(commit, known, watch), IsOk());
      EXPECT_EQ(watch.paths, Truth(base::HexEncode(pack.store.id(commit))));
    }
    EXPECT_TRUE(walk.missing().empty());
    pushes += walk.commits().empty() ? 0 : 1;
  }
  EXPECT_GT(pushes, 4);
}

TEST_P(WalkOracle, ThinPacksHoldObjectsWithoutAName) {
  if (!git_.ok()) return;
  Import(3, 40);
  const std::string tip = git_.Id("b40");
  const std::string parent = Lines("rev-list --parents -1 b40").front().substr(git_.id_digits() + 1, git_.id_digits());
  if (parent.empty()) return;
  Pack pack(format(), git_.Git("pack-objects -q --stdout --revs --thin --delta-base-offset", tip + "\n^" + parent + "\n"));
  ASSERT_THAT(pack.read, IsOk());
  EXPECT_GT(pack.store.unresolved(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Formats, WalkOracle, testing::Values("sha1", "sha256"), [](const auto& row) { return std::string(row.param); });

// ---- packs that git would not write

std::string Entry(std::string_view mode, std::string_view name, std::string_view hex) {
  return base::StrCat(mode, " ", name, '\0', Raw(hex));
}

std::string IdOf(std::string_view type, std::string_view content) {
  return base::HexEncode(ObjectId(ObjectFormat::kSha1, type, content));
}

std::string Commit(std::string_view tree, const std::vector<std::string>& parents = {}) {
  std::string text = base::StrCat("tree ", tree, "\n");
  for (const std::string& parent : parents) base::StrAppend(&text, "parent ", parent, "\n");
  return text + "author a <a@host.test> 1 +0000\ncommitter a <a@host.test> 1 +0000\n\nm\n";
}

constexpr int kTree = 2, kTag = 4;
const std::string kBlobId = IdOf("blob", "x");

// One commit with `tree` as its root, and a blob `x`.
absl::Status ReachTree(const std::string& tree, const PushWalkLimits& limits = {}) {
  PackBuilder builder;
  const std::string commit = Commit(IdOf("tree", tree));
  builder.Add(PackBuilder::kCommit, commit);
  builder.Add(kTree, tree);
  builder.Add(PackBuilder::kBlob, "x");
  Pack pack(ObjectFormat::kSha1, builder.Bytes());
  EXPECT_THAT(pack.read, IsOk());
  PushWalk walk(pack.stored(), limits);
  walk.AddTip(Raw(CommitId(commit)));
  return ReachAll(walk);
}

TEST(PushWalk, RefusesTreesThatGitsOwnChecksRefuse) {
  const std::string good = Entry("100644", "f", kBlobId);
  EXPECT_THAT(ReachTree(good), IsOk());
  EXPECT_THAT(ReachTree(Entry("100664", "f", kBlobId)), IsOk()) << "what old versions wrote";
  EXPECT_THAT(ReachTree(Entry("100644", "a", kBlobId) + Entry("120000", "a.b", kBlobId)), IsOk());
  const std::string folder = Entry("40000", "a", std::string(40, 'd'));
  const std::vector<std::pair<const char*, std::string>> rows = {
      {"twice", good + good},
      {"file and folder", Entry("100644", "a", kBlobId) + Entry("100644", "a.b", kBlobId) + folder},
      {"order", Entry("100644", "b", kBlobId) + Entry("100644", "a", kBlobId)},
      {"folder order", folder + Entry("100644", "a.b", kBlobId)},
      {"empty name", Entry("100644", "", kBlobId)},
      {"dot", Entry("100644", ".", kBlobId)},
      {"dots", Entry("100644", "..", kBlobId)},
      {"slash", Entry("100644", "a/b", kBlobId)},
      {"dot git", Entry("100644", ".GIT", kBlobId)},
      {"short dot git", Entry("100644", "git~1", kBlobId)},
      {"dot git with a mark", Entry("100644", ".g\xE2\x80\x8Cit", kBlobId)},
      {"dot git with a space", Entry("100644", ".git ", kBlobId)},
      {"odd mode", Entry("100600", "f", kBlobId)},
      {"no mode", Entry("0", "f", kBlobId)},
      {"zero in front", Entry("040000", "f", kBlobId)},
      {"no octal", Entry("100648", "f", kBlobId)},
      {"cut", good.substr(0, good.size() - 1)},
      {"no name", "100644"},
      {"a folder that is a file", Entry("40000", "f", kBlobId)},
  };
  for (const auto& [name, tree] : rows) EXPECT_THAT(ReachTree(tree), FailsWith(ErrorCode::kBadPack)) << name;
  EXPECT_THAT(ReachTree(Entry("100644", "a", kBlobId) + Entry("100644", "b", kBlobId), {.max_tree_entries = 1}),
              FailsWith(ErrorCode::kBodyTooLarge));
}

TEST(PushWalk, RefusesObjectsThatNoTipReaches) {
  PackBuilder builder;
  const std::string tree = Entry("100644", "f", kBlobId), commit = Commit(IdOf("tree", tree));
  builder.Add(PackBuilder::kCommit, commit);
  builder.Add(kTree, tree);
  builder.Add(PackBuilder::kBlob, "x");
  builder.Add(PackBuilder::kBlob, "smuggled");
  Pack pack(ObjectFormat::kSha1, builder.Bytes());
  ASSERT_THAT(pack.read, IsOk());
  PushWalk walk(pack.stored(), {});
  walk.AddTip(Raw(CommitId(commit)));
  EXPECT_THAT(ReachAll(walk), FailsWith(ErrorCode::kStrayObject));
  PushWalk other(pack.stored(), {});
  other.AddTip(std::string(20, '\x11'));
  EXPECT_THAT(ReachAll(other), FailsWith(ErrorCode::kStrayObject));
}

TEST(PushWalk, FollowsTagsOfTags) {
  PackBuilder builder;
  const std::string tree = Entry("100644", "f", kBlobId), commit = Commit(IdOf("tree", tree), {std::string(40, '1')});
  const std::string tag = base::StrCat("object ", CommitId(commit), "\ntype commit\ntag v1\ntagger a <a@host.test> 1 +0000\n\nm\n");
  const std::string outer = base::StrCat("object ", IdOf("tag", tag), "\ntype tag\ntag v2\ntagger a <a@host.test> 1 +0000\n\nm\n");
  builder.Add(kTag, outer);
  builder.Add(kTag, tag);
  builder.Add(PackBuilder::kCommit, commit);
  builder.Add(kTree, tree);
  builder.Add(PackBuilder::kBlob, "x");
  Pack pack(ObjectFormat::kSha1, builder.Bytes());
  ASSERT_THAT(pack.read, IsOk());
  PushWalk walk(pack.stored(), {});
  walk.AddTip(Raw(IdOf("tag", outer)));
  ASSERT_THAT(ReachAll(walk), IsOk());
  EXPECT_EQ(walk.outside(), std::set<std::string>{Raw(std::string(40, '1'))});
  const PushWalk::Peeled peeled = walk.Peel(Raw(IdOf("tag", outer)));
  EXPECT_EQ(peeled.kind, PushWalk::Peeled::Kind::kCommit);
  EXPECT_EQ(base::HexEncode(pack.store.id(peeled.commit)), CommitId(commit));
  EXPECT_TRUE(walk.Descends(Raw(CommitId(commit)), Raw(std::string(40, '1'))));
  EXPECT_FALSE(walk.Descends(Raw(CommitId(commit)), Raw(std::string(40, '2'))));
  // The tree of the parent is nobody's: the answer is not whole, and says so.
  Everything watch;
  ASSERT_THAT(walk.Compare(peeled.commit, {}, watch), IsOk());
  EXPECT_EQ(walk.missing(), std::set<std::string>{Raw(std::string(40, '1'))});
}

TEST(PushWalk, GoesNoFurtherThanItsLimits) {
  // a/a/a/x, and a commit with two parents that are the host's.
  PackBuilder builder;
  std::string tree = Entry("100644", "x", kBlobId);
  builder.Add(PackBuilder::kBlob, "x");
  for (int level = 0; level < 3; ++level) {
    builder.Add(kTree, tree);
    tree = Entry("40000", "a", IdOf("tree", tree));
  }
  builder.Add(kTree, tree);
  const std::string root = Commit(IdOf("tree", tree));
  const std::string merge = Commit(IdOf("tree", tree), {CommitId(root), std::string(40, '1'), std::string(40, '2')});
  builder.Add(PackBuilder::kCommit, root);
  builder.Add(PackBuilder::kCommit, merge);
  Pack pack(ObjectFormat::kSha1, builder.Bytes());
  ASSERT_THAT(pack.read, IsOk());
  const auto run = [&](const PushWalkLimits& limits) {
    PushWalk walk(pack.stored(), limits);
    walk.AddTip(Raw(CommitId(merge)));
    absl::Status status = ReachAll(walk);
    Everything watch;
    if (status.ok()) status = walk.Compare(*pack.store.Find(Raw(CommitId(root))), {}, watch);
    EXPECT_EQ(watch.paths.contains("a/a/a/x"), status.ok());
    return status;
  };
  EXPECT_THAT(run({}), IsOk());
  EXPECT_THAT(run({.max_tree_depth = 3}), IsOk());
  EXPECT_THAT(run({.max_tree_depth = 2}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(run({.max_parents = 2}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(run({.max_outside = 1}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(run({.max_compared = 3}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(run({.max_compared_at_once = 3}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(run({.max_held = 3}), FailsWith(ErrorCode::kBodyTooLarge));
  PushWalk walk(pack.stored(), {.max_steps = 2});
  walk.AddTip(Raw(CommitId(merge)));
  ASSERT_THAT(ReachAll(walk), IsOk());
  const uint32_t tip = *pack.store.Find(Raw(CommitId(merge)));
  EXPECT_THAT(walk.Reached(tip).status(), IsOk()) << "two commits";
  EXPECT_THAT(walk.Reached(tip).status(), FailsWith(ErrorCode::kBodyTooLarge)) << "over all calls";
  EXPECT_FALSE(walk.Descends(Raw(CommitId(merge)), Raw(std::string(40, '1')))) << "what was not looked at proves nothing";
}

// Nothing that was rebuilt is kept: each delta is rebuilt from the start of its chain.
TEST_P(WalkOracle, ReadsTheSameWithoutMemory) {
  if (!git_.ok()) return;
  Import(5, 30);
  const std::string bytes = git_.Git("pack-objects -q --stdout --revs --all --delta-base-offset", "");
  Pack kept(format(), bytes), poor(format(), bytes, {.max_cached_bytes = 0});
  ASSERT_THAT(kept.read, IsOk());
  ASSERT_THAT(poor.read, IsOk());
  for (uint32_t i = 0; i < kept.store.count(); ++i) EXPECT_EQ(kept.store.id(i), poor.store.id(i));
}

TEST(PackStore, RefusesWhatGoesPastALimit) {
  const auto read = [](const PackBuilder& builder, const PackStoreLimits& limits) { return Pack(ObjectFormat::kSha1, builder.Bytes(), limits).read; };
  PackBuilder twice;
  twice.Add(PackBuilder::kBlob, "x");
  twice.Add(PackBuilder::kBlob, "x");
  EXPECT_THAT(read(twice, {}), FailsWith(ErrorCode::kBadPack));
  PackBuilder chain;
  std::size_t at = chain.Add(PackBuilder::kBlob, "0");
  for (int i = 1; i < 5; ++i) at = chain.AddOffsetDelta(chain.Here() - at, InsertDelta(1, std::string(1, static_cast<char>('0' + i))));
  EXPECT_THAT(read(chain, {}), IsOk());
  EXPECT_THAT(read(chain, {.max_delta_depth = 3}), FailsWith(ErrorCode::kBadPack));
  EXPECT_THAT(read(chain, {.max_work_bytes = 100}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(read(chain, {.max_objects = 4}), FailsWith(ErrorCode::kBodyTooLarge));
  PackBuilder wide;
  at = wide.Add(PackBuilder::kBlob, std::string(2000, 'a'));
  wide.AddOffsetDelta(wide.Here() - at, InsertDelta(2000, "b"));
  EXPECT_THAT(read(wide, {.max_object_bytes = 1000}), FailsWith(ErrorCode::kBodyTooLarge));
  PackBuilder broken;
  at = broken.Add(PackBuilder::kBlob, "abc");
  broken.AddOffsetDelta(broken.Here() - at, InsertDelta(7, "b"));
  EXPECT_THAT(read(broken, {}), FailsWith(ErrorCode::kBadPack));
  PackBuilder nowhere;
  at = nowhere.Add(PackBuilder::kBlob, "abc");
  nowhere.AddOffsetDelta(nowhere.Here() - at - 1, InsertDelta(3, "b"));
  EXPECT_THAT(read(nowhere, {}), FailsWith(ErrorCode::kBadPack));
}

// Deltas by id may stand in front of their bases; without one in the pack they have no name.
TEST(PackStore, ResolvesDeltasByIdInAnyOrder) {
  PackBuilder builder;
  builder.AddIdDelta(IdOf("blob", "two"), InsertDelta(3, "three"));
  builder.AddIdDelta(IdOf("blob", "one"), InsertDelta(3, "two"));
  builder.Add(PackBuilder::kBlob, "one");
  builder.AddIdDelta(std::string(40, '5'), InsertDelta(3, "lost"));
  Pack pack(ObjectFormat::kSha1, builder.Bytes());
  ASSERT_THAT(pack.read, IsOk());
  EXPECT_EQ(pack.store.unresolved(), 1u);
  EXPECT_EQ(pack.store.largest_blob(), 5u);
  for (const char* text : {"one", "two", "three"}) {
    const auto index = pack.store.Find(Raw(IdOf("blob", text)));
    ASSERT_TRUE(index.has_value()) << text;
    ASSERT_OK_AND_ASSIGN(const auto content, pack.store.Read(*index, pack.bytes));
    EXPECT_EQ(*content, text);
  }
}

}  // namespace
}  // namespace credbroker::wire
