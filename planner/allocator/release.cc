// How memory goes back to the driver: garbage collection before more is asked
// for, then just enough oversize blocks, then everything that is whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "planner/allocator/caching_allocator.h"

namespace memplan {

// The free blocks of a pool in the allocator's order: by stream, size, address.
void CachingAllocator::GatherFree(bool is_small, bool whole_only) {
  gathered_.clear();
  for (const uint32_t stream : by_handle_) {
    const FreeBlocks& free = heaps_[HeapOf(stream, is_small)].free;
    for (BlockId id = free.First(blocks_); id != kNoBlock;
         id = free.After(blocks_, id)) {
      if (!whole_only || !blocks_[id].IsSplit()) gathered_.push_back(id);
    }
  }
}

// Releases whole large segments that have been free for longer than most: those
// at or above the mean age, then again among the rest, until the bytes held are
// at the threshold or nothing is left. Age is counted in searches of the pool.
void CachingAllocator::CollectGarbage() {
  if (expandable_ || reserved_ <= collect_above_) return;
  GatherFree(/*is_small=*/false, /*whole_only=*/true);
  const auto age_of = [this](BlockId id) {
    return static_cast<int64_t>(searches_[0] - blocks_[id].free_since);
  };
  int64_t total_age = 0;
  for (const BlockId id : gathered_) total_age += age_of(id);
  while (reserved_ > collect_above_ && !gathered_.empty()) {
    const double limit =
        static_cast<double>(total_age) / static_cast<double>(gathered_.size());
    const auto kept =
        std::remove_if(gathered_.begin(), gathered_.end(), [&](BlockId id) {
          const int64_t age = age_of(id);
          if (static_cast<double>(age) < limit) return false;
          total_age -= age;
          ReleaseSegment(id);
          return true;
        });
    if (kept == gathered_.end()) return;
    gathered_.erase(kept, gathered_.end());
  }
}

// Releases the least oversize block that would do alone, or else the largest
// ones below until they do together; true if they do. Blocks of max_split_size
// or more are never split, so each is a whole segment.
bool CachingAllocator::ReleaseAvailable(HeapId heap, int64_t size) {
  if (expandable_) return false;
  const FreeBlocks& free = heaps_[heap].free;
  const int64_t needed = std::max(size, max_split_);
  BlockId id = free.FirstAtLeast(blocks_, needed);
  if (id != kNoBlock) {
    ReleaseSegment(id);
    return true;
  }
  int64_t released = 0;
  id = free.LastBelow(blocks_, needed);
  while (id != kNoBlock && released < needed &&
         blocks_[id].size >= max_split_) {
    const BlockId before = free.Before(blocks_, id);
    released += blocks_[id].size;
    ReleaseSegment(id);
    id = before;
  }
  return released >= needed;
}

void CachingAllocator::ReleaseAll() {
  CompleteFrees();
  ReleasePool(/*is_small=*/false);
  ReleasePool(/*is_small=*/true);
}

void CachingAllocator::ReleasePool(bool is_small) {
  GatherFree(is_small, /*whole_only=*/!expandable_);
  for (const BlockId id : gathered_) {
    if (expandable_) {
      UnmapFree(id);
    } else {
      ReleaseSegment(id);
    }
  }
}

void CachingAllocator::ReleaseSegment(BlockId id) {
  RemoveFree(id);
  const Block& block = blocks_[id];
  ChangeReserved(EventKind::kSegmentFree, block, -block.size);
  addresses_.Remove(block.address, block.size);
  blocks_.Remove(id);
}

// The device is waited for.
void CachingAllocator::CompleteFrees() {
  ++completions_;
  if (counters_ != nullptr) ++counters_->num_sync_all_streams;
  while (!awaited_blocks_.empty()) Free(awaited_blocks_.back());
}

}  // namespace memplan
