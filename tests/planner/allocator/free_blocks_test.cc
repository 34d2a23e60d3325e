#include "planner/allocator/free_blocks.h"

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace memplan {
namespace {

using ::testing::ElementsAre;

class FreeBlocksTest : public ::testing::Test {
 protected:
  BlockId Insert(int64_t size, uint64_t address) {
    const BlockId id = blocks_.Add(address, size, 0, BlockState::kFree);
    free_.Insert(blocks_, id);
    return id;
  }
  // Addresses, in the order of the set.
  std::vector<uint64_t> Addresses() const {
    std::vector<uint64_t> addresses;
    for (BlockId id = free_.First(blocks_); id != kNoBlock;
         id = free_.After(blocks_, id)) {
      addresses.push_back(blocks_[id].address);
    }
    return addresses;
  }

  BlockTable blocks_;
  FreeBlocks free_;
};

TEST_F(FreeBlocksTest, OrdersBySizeThenAddress) {
  Insert(1024, 0x3000);
  Insert(512, 0x9000);
  Insert(1024, 0x1000);
  Insert(8 << 20, 0x2000);
  Insert(1024, 0x2000);
  EXPECT_THAT(Addresses(), ElementsAre(0x9000, 0x1000, 0x2000, 0x3000, 0x2000));
}

TEST_F(FreeBlocksTest, FindsTheLeastThatIsLargeEnough) {
  const BlockId small = Insert(512, 0x1000);
  const BlockId large = Insert(4096, 0x2000);
  EXPECT_EQ(free_.FirstAtLeast(blocks_, 1), small);
  EXPECT_EQ(free_.FirstAtLeast(blocks_, 512), small);
  EXPECT_EQ(free_.FirstAtLeast(blocks_, 513), large);
  EXPECT_EQ(free_.FirstAtLeast(blocks_, 4097), kNoBlock);
  EXPECT_EQ(free_.FirstAtLeast(blocks_, int64_t{1} << 60), kNoBlock);
  EXPECT_EQ(free_.LastBelow(blocks_, 4096), small);
  EXPECT_EQ(free_.LastBelow(blocks_, 512), kNoBlock);
}

// Both sizes are in the bucket of 17 and 17.5 KiB.
TEST_F(FreeBlocksTest, TellsSizesOfOneBucketApart) {
  const BlockId less = Insert(17408, 0x9000);
  const BlockId more = Insert(17920, 0x1000);
  EXPECT_EQ(free_.FirstAtLeast(blocks_, 17408), less);
  EXPECT_EQ(free_.FirstAtLeast(blocks_, 17409), more);
  EXPECT_EQ(free_.Before(blocks_, more), less);
  EXPECT_EQ(free_.After(blocks_, less), more);
}

TEST_F(FreeBlocksTest, ForgetsWhatIsRemovedOrCleared) {
  const BlockId first = Insert(512, 0x1000);
  Insert(512, 0x2000);
  free_.Remove(blocks_, first);
  EXPECT_THAT(Addresses(), ElementsAre(0x2000));
  free_.Clear();
  EXPECT_EQ(free_.First(blocks_), kNoBlock);
}

TEST_F(FreeBlocksTest, TakesTheLargestSizes) {
  const BlockId id = Insert((int64_t{1} << 61) - 512, 0x1000);
  EXPECT_EQ(free_.FirstAtLeast(blocks_, int64_t{1} << 60), id);
}

TEST_F(FreeBlocksTest, IsASetOfPlaces) {
  // NOLINTNEXTLINE(bugprone-random-generator-seed): a failure can be repeated
  std::mt19937 random(1);
  std::set<std::pair<int64_t, uint64_t>> expected;
  std::vector<BlockId> ids;
  for (int i = 0; i < 20'000; ++i) {
    if (ids.size() < 300 && random() % 5 != 0) {
      const int64_t size = int64_t{512} << random() % 4 << random() % 12;
      const uint64_t address = static_cast<uint64_t>(i) * 512;
      ids.push_back(Insert(size, address));
      expected.emplace(size, address);
    } else if (!ids.empty()) {
      std::swap(ids[random() % ids.size()], ids.back());
      const Block& block = blocks_[ids.back()];
      expected.erase({block.size, block.address});
      free_.Remove(blocks_, ids.back());
      blocks_.Remove(ids.back());
      ids.pop_back();
    }
    const int64_t size = int64_t{512} << random() % 16;
    const auto found = expected.lower_bound({size, 0});
    const BlockId id = free_.FirstAtLeast(blocks_, size);
    ASSERT_EQ(id == kNoBlock, found == expected.end());
    if (id != kNoBlock) {
      ASSERT_EQ(blocks_[id].address, found->second);
    }
  }
  EXPECT_EQ(Addresses().size(), expected.size());
}

}  // namespace
}  // namespace memplan
