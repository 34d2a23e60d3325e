// The free blocks of one stream and pool, in the order in which the allocator
// looks at them: by size, then by address.
//
//   bucket   0        1        …   17                 18   …   400 size classes
//   bitmap   1        0            1                  1
//            │                     │                  │
//            512              17 KiB, 17.5 KiB   18 KiB         a tree in each
//
// A search looks into the bucket of its size, then takes the least of the next
// bucket that the bitmap shows. Buckets hold few blocks as a rule; a tree (a
// treap, its nodes the blocks themselves) keeps the worst case short too.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_FREE_BLOCKS_H_
#define MEMPLAN_PLANNER_ALLOCATOR_FREE_BLOCKS_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "planner/allocator/block.h"

namespace memplan {

// Works on blocks of one table, which each call is given. Not thread-safe.
class FreeBlocks {
 public:
  FreeBlocks() { roots_.fill(kNoBlock); }

  void Insert(BlockTable& blocks, BlockId id);
  // `id` must be in here.
  void Remove(BlockTable& blocks, BlockId id);
  // Gives one that is in here another place and size, if its bucket holds only
  // it and remains the right one. False if not; nothing is changed then.
  bool Resize(BlockTable& blocks, BlockId id, uint64_t address, int64_t size);

  // The first whose size and address are not less than these; kNoBlock if there
  // is none.
  BlockId FirstAtLeast(const BlockTable& blocks, int64_t size,
                       uint64_t address = 0) const;
  // The last whose size is less; kNoBlock if there is none.
  BlockId LastBelow(const BlockTable& blocks, int64_t size) const;
  // The one before or after one that is in here.
  BlockId Before(const BlockTable& blocks, BlockId id) const;
  BlockId After(const BlockTable& blocks, BlockId id) const;
  BlockId First(const BlockTable& blocks) const {
    return FirstAtLeast(blocks, 0);
  }

  // Forgets all.
  void Clear();

 private:
  // The order's key.
  struct Place {
    int64_t size;
    uint64_t address;
    friend bool operator<(const Place& a, const Place& b) {
      return a.size != b.size ? a.size < b.size : a.address < b.address;
    }
  };

  // Sizes below 16 units of 512 bytes have a bucket each; above, 8 share the way
  // from one power of two to the next. The largest sizes share the last.
  static constexpr size_t kBuckets = 448;
  static constexpr size_t kWords = kBuckets / 64;

  static size_t BucketOf(int64_t size) {
    const uint64_t units = static_cast<uint64_t>(size) >> 9;
    if (units < 16) return units;
    const auto power = static_cast<size_t>(std::bit_width(units) - 1);
    return 16 + (power - 4) * 8 + ((units >> (power - 3)) & 7);
  }
  static Place PlaceOf(const BlockTable& blocks, BlockId id) {
    return {blocks[id].size, blocks[id].address};
  }
  // Nodes nearer to a tree's root have the higher one.
  static uint32_t PriorityOf(BlockId id) { return id * 0x9e3779b1u; }

  BlockId FirstNotBefore(const BlockTable& blocks, Place place) const;
  BlockId LastBefore(const BlockTable& blocks, Place place) const;

  std::array<uint64_t, kWords> bitmap_ = {};
  std::array<BlockId, kBuckets> roots_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_FREE_BLOCKS_H_
