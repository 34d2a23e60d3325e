// What the allocator does, in the counters of memory_stats().
#include <cstdint>

#include "planner/allocator/caching_allocator.h"

namespace memplan {

// `taken_split` is the size of the free block that served if its segment held
// others, else 0.
void CachingAllocator::CountAlloc(BlockId id, int64_t taken_split) {
  const Block& block = blocks_[id];
  const bool small = IsSmall(block);
  AllocatorCounters& counters = *counters_;
  counters.allocation.Change(small, 1);
  counters.allocated_bytes.Change(small, block.size);
  counters.active.Change(small, 1);
  counters.active_bytes.Change(small, block.size);
  counters.requested_bytes.Change(small, block.requested);
  if (block.size >= max_split_) counters.oversize_allocations.Change(1);
  if (expandable_) return;
  // A rest that was split off lies behind it, and nothing else free does.
  const BlockId next = block.next;
  const bool has_rest =
      next != kNoBlock && blocks_[next].state == BlockState::kFree;
  const int64_t rest = has_rest ? blocks_[next].size : 0;
  counters.inactive_split.Change(
      small, (has_rest ? 1 : 0) - (taken_split > 0 ? 1 : 0));
  counters.inactive_split_bytes.Change(small, rest - taken_split);
}

void CachingAllocator::CountFreeRequested(const Block& block) {
  const bool small = IsSmall(block);
  counters_->allocation.Change(small, -1);
  counters_->allocated_bytes.Change(small, -block.size);
  if (block.size >= max_split_) counters_->oversize_allocations.Change(-1);
}

// Before it is merged with its neighbours.
void CachingAllocator::CountFreed(const Block& block) {
  const bool small = IsSmall(block);
  counters_->active.Change(small, -1);
  counters_->active_bytes.Change(small, -block.size);
  counters_->requested_bytes.Change(small, -block.requested);
  if (expandable_) return;
  // The merged block is a rest unless it is the whole segment; free neighbours
  // were rests, and are no longer.
  int64_t merged = 0;
  int64_t merged_bytes = 0;
  BlockId previous = block.previous;
  BlockId next = block.next;
  if (previous != kNoBlock && blocks_[previous].state == BlockState::kFree) {
    ++merged;
    merged_bytes += blocks_[previous].size;
    previous = blocks_[previous].previous;
  }
  if (next != kNoBlock && blocks_[next].state == BlockState::kFree) {
    ++merged;
    merged_bytes += blocks_[next].size;
    next = blocks_[next].next;
  }
  const bool is_rest = previous != kNoBlock || next != kNoBlock;
  counters_->inactive_split.Change(small, (is_rest ? 1 : 0) - merged);
  counters_->inactive_split_bytes.Change(small,
                                         is_rest ? block.size : -merged_bytes);
}

void CachingAllocator::CountSegment(EventKind kind, const Block& block,
                                    int64_t by) {
  const bool small = IsSmall(block);
  counters_->reserved_bytes.Change(small, by);
  ++(by > 0 ? counters_->num_device_alloc : counters_->num_device_free);
  if (kind == EventKind::kSegmentMap || kind == EventKind::kSegmentUnmap) {
    return;
  }
  const int64_t change = by > 0 ? 1 : -1;
  counters_->segment.Change(small, change);
  if (block.size >= max_split_) counters_->oversize_segments.Change(change);
}

}  // namespace memplan
