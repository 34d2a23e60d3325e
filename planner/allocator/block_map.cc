#include "planner/allocator/block_map.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace memplan {
namespace {

MappedBlock MapBlock(const Block& block) {
  const bool is_used = block.state == BlockState::kAllocated ||
                       block.state == BlockState::kFreeRequested;
  return {.address = block.address,
          .size = Bytes(block.size),
          .requested = Bytes(is_used ? block.requested : 0),
          .state = block.state};
}

}  // namespace

std::vector<MappedSegment> MapBlocks(const CachingAllocator& allocator) {
  const BlockTable& blocks = allocator.blocks();
  std::vector<MappedSegment> segments;
  for (BlockId first = 0; first < blocks.size(); ++first) {
    const Block& block = blocks[first];
    if (block.state == BlockState::kGone || block.previous != kNoBlock) {
      continue;
    }
    MappedSegment segment;
    segment.address = block.address;
    segment.stream = allocator.StreamOf(block);
    segment.is_small = allocator.IsSmall(block);
    for (BlockId id = first; id != kNoBlock; id = blocks[id].next) {
      segment.size += Bytes(blocks[id].size);
      segment.blocks.push_back(MapBlock(blocks[id]));
    }
    segments.push_back(std::move(segment));
  }
  std::sort(segments.begin(), segments.end(),
            [](const MappedSegment& a, const MappedSegment& b) {
              return a.address < b.address;
            });
  return segments;
}

}  // namespace memplan
