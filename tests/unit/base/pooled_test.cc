#include "base/pooled.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace credbroker::base {
namespace {

TEST(PooledTest, BlocksDoNotOverlapWhateverTheirSize) {
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (const std::size_t size : {1, 127, 128, 129, 1000, 1024, 1025, 4096, 4097, 100'000}) {
    for (int i = 0; i < 3; ++i) {
      auto* block = static_cast<char*>(TakeBlock(size));
      std::memset(block, static_cast<int>(blocks.size()), size);
      blocks.emplace_back(block, size);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t at = 0; at < blocks[i].second; ++at) ASSERT_EQ(blocks[i].first[at], static_cast<char>(i));
  }
  for (const auto& [block, size] : blocks) GiveBlock(block, size);
}

TEST(PooledTest, ABlockMayBeGivenBackElsewhere) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(TakeBlock(600));
  std::thread([&] {
    for (void* block : blocks) GiveBlock(block, 600);
    std::set<void*> again;
    for (int i = 0; i < 1000; ++i) again.insert(TakeBlock(600));
    EXPECT_EQ(again.size(), 1000u);
    for (void* block : again) GiveBlock(block, 600);
  }).join();
}

struct Frame : Pooled {
  explicit Frame(int* live) : live_count(live) { ++*live_count; }
  ~Frame() { --*live_count; }
  int* live_count;
  char body[700];
};

TEST(PooledTest, ObjectsLiveInBlocks) {
  int live = 0;
  for (int i = 0; i < 200; ++i) {
    const auto one = std::make_unique<Frame>(&live);
    const auto two = std::make_unique<Frame>(&live);
    EXPECT_NE(one.get(), two.get());
    EXPECT_EQ(live, 2);
  }
  EXPECT_EQ(live, 0);
}

}  // namespace
}  // namespace credbroker::base
