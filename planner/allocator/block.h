// The blocks of a replay: parts of segments, each linked to its neighbours.
//
//   segment  ┌────────────┬──────────┬───────────────────┐
//            │ allocated  │ free     │ allocated         │
//            └────────────┴──────────┴───────────────────┘
//   blocks    0 ◄────────► 5 ◄──────► 3          ids are places in one array
//
// Ids of blocks that are gone are given again.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_BLOCK_H_
#define MEMPLAN_PLANNER_ALLOCATOR_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace memplan {

using BlockId = uint32_t;
inline constexpr BlockId kNoBlock = std::numeric_limits<BlockId>::max();

enum class BlockState : uint8_t {
  kGone,           // no block: the id can be given again
  kFree,           // can be handed out or merged
  kAllocated,      // handed out
  kFreeRequested,  // given back, but a stream still works on it
  kUnmapped,       // a part of an expandable segment without memory
};

struct Block {
  uint64_t address = 0;
  int64_t size = 0;
  int64_t requested = 0;        // while handed out
  BlockId previous = kNoBlock;  // neighbours in the segment
  BlockId next = kNoBlock;
  BlockId left =
      kNoBlock;  // while free: smaller and larger ones (free_blocks.h)
  BlockId right = kNoBlock;
  uint32_t free_since = 0;  // while free: the pool's count of searches then
  uint16_t heap = 0;        // its stream and pool
  BlockState state = BlockState::kGone;

  // Whether its segment holds other blocks.
  bool IsSplit() const { return previous != kNoBlock || next != kNoBlock; }
};
static_assert(sizeof(Block) <= 48, "search keeps thousands of replays' blocks");

// Not thread-safe. References last until the next Add.
class BlockTable {
 public:
  // The id of a new block without neighbours.
  BlockId Add(uint64_t address, int64_t size, uint16_t heap, BlockState state) {
    BlockId id = unused_;
    if (id == kNoBlock) {
      id = static_cast<BlockId>(blocks_.size());
      blocks_.emplace_back();
    } else {
      unused_ = blocks_[id].next;
    }
    blocks_[id] = {
        .address = address, .size = size, .heap = heap, .state = state};
    return id;
  }

  void Remove(BlockId id) {
    blocks_[id].state = BlockState::kGone;
    blocks_[id].next = unused_;
    unused_ = id;
  }

  Block& operator[](BlockId id) { return blocks_[id]; }
  const Block& operator[](BlockId id) const { return blocks_[id]; }

  // Ids are below it.
  size_t size() const { return blocks_.size(); }

  // No blocks; keeps its memory.
  void Clear() {
    blocks_.clear();
    unused_ = kNoBlock;
  }

 private:
  std::vector<Block> blocks_;
  BlockId unused_ = kNoBlock;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_BLOCK_H_
