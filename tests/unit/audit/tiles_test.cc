#include "audit/chain.h"
#include "audit/tiles.h"
#include "audit/tree.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using testing_kit::FailsWith;
using testing_kit::IsOk;

Hash Leaf(uint64_t i) { return LeafHash(base::StrCat("leaf ", i)); }

std::vector<std::string> RawList(const std::vector<Hash>& hashes) {
  std::vector<std::string> raw;
  for (const Hash& hash : hashes) raw.emplace_back(Bytes(hash));
  return raw;
}

TEST(TreeTest, AllProofsOfSmallTreesHoldAndOthersDoNot) {
  std::vector<Hash> leaves;
  std::vector<Hash> roots = {EmptyRoot()};
  for (uint64_t size = 1; size <= 35; ++size) {
    leaves.push_back(Leaf(size - 1));
    const MemoryNodes nodes(leaves);
    ASSERT_OK_AND_ASSIGN(const Hash root, RootAt(nodes, size));
    roots.push_back(root);
    for (uint64_t i = 0; i < size; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Hash> path, ProveInclusion(nodes, i, size));
      EXPECT_THAT(CheckInclusion(i, size, Bytes(leaves[i]), RawList(path), Bytes(root)), IsOk());
      EXPECT_FALSE(CheckInclusion(i + 1, size, Bytes(leaves[i]), RawList(path), Bytes(root)).ok());
      ASSERT_OK_AND_ASSIGN(const std::vector<Hash> proof, ProveConsistency(nodes, i + 1, size));
      EXPECT_THAT(CheckConsistency(i + 1, size, Bytes(roots[i + 1]), Bytes(root), RawList(proof)), IsOk()) << i << ' ' << size;
      if (i + 1 < size) {
        EXPECT_FALSE(CheckConsistency(i + 1, size, Bytes(roots[i]), Bytes(root), RawList(proof)).ok());
      }
    }
  }
  EXPECT_THAT(ProveConsistency(MemoryNodes(leaves), 0, 3), FailsWith(base::ErrorCode::kBadArgument));
  EXPECT_THAT(ProveInclusion(MemoryNodes(leaves), 35, 35), FailsWith(base::ErrorCode::kBadArgument));
}

TEST(TilePathTest, HasGroupsOfThreeDigits) {
  EXPECT_EQ(TilePath(0, 0, 256), "tile/0/000");
  EXPECT_EQ(TilePath(1, 5, 7), "tile/1/005.p/7");
  EXPECT_EQ(TilePath(0, 1234067, 256), "tile/0/x001/x234/067");
}

TEST(TilesTest, TheNewestLeavesAreEnoughToGoOn) {
  const Folder folder;
  CompactRange plain;
  uint64_t next = 0;
  for (const uint64_t size : {200u, 600u, 70'000u}) {
    ASSERT_OK_AND_ASSIGN(TileWriter writer, TileWriter::Load(folder.path(), next));
    writer.Write(LeafTiles::kNewest);
    for (; next < size; ++next) {
      writer.Append(Leaf(next));
      plain.Append(Leaf(next));
    }
    ASSERT_THAT(writer.Save(), IsOk());
    EXPECT_EQ(writer.Range().Root(), plain.Root());
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "tile/0/000"));
  EXPECT_TRUE(std::filesystem::exists(folder / "tile/1/000"));
  EXPECT_TRUE(std::filesystem::exists(folder / "tile/0/273.p/112"));
}

// Sizes around the borders of tiles and of tile levels.
class TileSizes : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Borders, TileSizes, testing::Values(0, 1, 255, 256, 257, 65535, 65536, 65537));

TEST_P(TileSizes, RootsAndProofsComeFromTilesAlone) {
  const uint64_t size = GetParam();
  const Folder folder;
  Chain chain(folder.path());
  std::vector<Hash> leaves;
  for (uint64_t i = 0; i < size; ++i) {
    leaves.push_back(Leaf(i));
    chain.Append(leaves.back());
    if (i % 1000 == 999) {
      ASSERT_THAT(chain.SaveTiles(), IsOk());
    }
  }
  ASSERT_THAT(chain.SaveTiles(), IsOk());
  EXPECT_EQ(std::filesystem::exists(folder / "tile/0/000"), size >= 256);
  EXPECT_EQ(std::filesystem::exists(folder / "tile/1/000"), size >= 65536);
  EXPECT_EQ(std::filesystem::exists(folder / "tile/0/001.p/1"), size == 257);
  EXPECT_EQ(std::filesystem::exists(folder / "tile/0/256.p/1"), size == 65537);
  const MemoryNodes memory(leaves);
  EXPECT_EQ(*RootAt(memory, size), chain.Root());
  for (const uint64_t index : {uint64_t{0}, size / 3, size / 2, size - 2, size - 1}) {
    if (index >= size) continue;
    ASSERT_OK_AND_ASSIGN(const std::vector<Hash> path, ProveInclusion(TileNodes(folder.path(), size), index, size));
    EXPECT_THAT(CheckInclusion(index, size, Bytes(leaves[index]), RawList(path), Bytes(chain.Root())), IsOk());
  }
  // Another run goes on where this one stopped.
  ASSERT_OK_AND_ASSIGN(Chain later, Chain::Load(folder.path(), size));
  EXPECT_EQ(later.Root(), chain.Root());
  later.Append(Leaf(size));
  chain.Append(Leaf(size));
  EXPECT_EQ(later.Root(), chain.Root());
  ASSERT_THAT(later.SaveTiles(), IsOk());
  EXPECT_EQ(*RootAt(TileNodes(folder.path(), size + 1), size + 1), chain.Root());
}

}  // namespace
}  // namespace credbroker::audit
