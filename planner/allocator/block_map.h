// How the blocks of an allocator lie at one moment, segment by segment.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_BLOCK_MAP_H_
#define MEMPLAN_PLANNER_ALLOCATOR_BLOCK_MAP_H_

#include <cstdint>
#include <vector>

#include "planner/allocator/block.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/base/bytes.h"

namespace memplan {

struct MappedBlock {
  uint64_t address = 0;
  Bytes size;
  Bytes requested;  // 0 unless in use
  BlockState state = BlockState::kFree;

  friend bool operator==(const MappedBlock&, const MappedBlock&) = default;
};

// A segment, or the whole range of an expandable one.
struct MappedSegment {
  uint64_t address = 0;
  Bytes size;
  uint32_t stream = 0;
  bool is_small = false;            // of the small pool
  std::vector<MappedBlock> blocks;  // by address; together the whole segment

  friend bool operator==(const MappedSegment&, const MappedSegment&) = default;
};

// By address.
std::vector<MappedSegment> MapBlocks(const CachingAllocator& allocator);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_BLOCK_MAP_H_
