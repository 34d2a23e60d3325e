// Expandable segments: each stream and pool has a range of addresses, far larger
// than it can need, and maps memory into it page by page.
//
//   range   ┌───────────┬──────┬───────────┬──────────┬──────────────────┐
//           │ allocated │ free │ allocated │ unmapped │ allocated │ …     │
//           └───────────┴──────┴───────────┴──────────┴──────────────────┘
//           │ page      │ page      │ page │
//
// Unmapped parts are blocks of the chain too. There are never two of them, nor
// two free blocks, side by side.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/allocator/caching_allocator.h"

namespace memplan {
namespace {

bool IsRoom(const Block& block) {
  return block.state == BlockState::kFree ||
         block.state == BlockState::kUnmapped;
}

// What a free block could grow to without moving.
int64_t GrowableSize(const BlockTable& blocks, BlockId id) {
  const BlockId next = blocks[id].next;
  const bool can_grow =
      next != kNoBlock && blocks[next].state == BlockState::kUnmapped;
  return blocks[id].size + (can_grow ? blocks[next].size : 0);
}

}  // namespace

// Of the blocks that are large enough, keeps away from the one at the open end
// of the range while others serve.
BlockId CachingAllocator::PreferEnclosed(HeapId heap, BlockId id) const {
  const FreeBlocks& free = heaps_[heap].free;
  for (;;) {
    const BlockId after = free.After(blocks_, id);
    if (after == kNoBlock ||
        GrowableSize(blocks_, after) >= GrowableSize(blocks_, id)) {
      return id;
    }
    id = after;
  }
}

// A free block of at least `size`, out of the set, by mapping what it lacks. If
// the driver refuses a piece, those mapped before stay, free.
BlockId CachingAllocator::MapNew(HeapId heap, int64_t size) {
  if (size > RangeSizeOf(heap)) return kNoBlock;
  BlockId id = FindRoom(heap, size);
  if (id == kNoBlock) id = AddRange(heap);
  if (id == kNoBlock) return kNoBlock;
  if (blocks_[id].state == BlockState::kUnmapped && !MapPiece(id, size)) {
    return kNoBlock;
  }
  while (blocks_[id].size < size) {
    const int64_t lacking = size - blocks_[id].size;
    // It is unmapped: room, and not merged with `id`. It absorbs `id`.
    const BlockId next = blocks_[id].next;
    if (!MapPiece(next, lacking)) return kNoBlock;
    id = next;
  }
  RemoveFree(id);
  return id;
}

// Where free and unmapped blocks of `size` together lie side by side, the lowest
// address first; the block that they begin with.
BlockId CachingAllocator::FindRoom(HeapId heap, int64_t size) const {
  for (const BlockId unmapped : heaps_[heap].unmapped) {
    const BlockId previous = blocks_[unmapped].previous;
    const bool begins_before =
        previous != kNoBlock && blocks_[previous].state == BlockState::kFree;
    const BlockId begin = begins_before ? previous : unmapped;
    if (HasRoom(begin, size)) return begin;
  }
  return kNoBlock;
}

bool CachingAllocator::HasRoom(BlockId from, int64_t size) const {
  while (size > 0 && from != kNoBlock && IsRoom(blocks_[from])) {
    size -= blocks_[from].size;
    from = blocks_[from].next;
  }
  return size <= 0;
}

BlockId CachingAllocator::AddRange(HeapId heap) {
  const int64_t size = RangeSizeOf(heap);
  const std::optional<uint64_t> address = addresses_.AddRange(size);
  if (!address.has_value()) return kNoBlock;
  heaps_[heap].ranges.push_back(*address);
  const BlockId id = blocks_.Add(*address, size, heap, BlockState::kUnmapped);
  InsertUnmapped(id);
  return id;
}

// Maps whole pages for `wanted`, or for all of the block if that is less, at the
// front of unmapped block `id`, which becomes a free one and takes in its free
// neighbours. False if the driver refuses; nothing is changed then.
bool CachingAllocator::MapPiece(BlockId id, int64_t wanted) {
  const HeapId heap = blocks_[id].heap;
  const int64_t piece =
      RoundUp(std::min(wanted, blocks_[id].size), PageOf(heap));
  if (piece > device_free_ - reserved_) return false;
  RemoveUnmapped(id);
  const int64_t rest = blocks_[id].size - piece;
  if (rest > 0) {
    blocks_[id].size = piece;
    InsertUnmapped(AddAfter(id, rest, BlockState::kUnmapped));
  }
  addresses_.OnMap(blocks_[id].address, piece);
  ChangeReserved(EventKind::kSegmentMap, blocks_[id], piece);
  MergeNeighbours(id);
  InsertFree(id);
  return true;
}

// Gives back the pages that lie wholly inside a free block. Its ends stay.
//
//             ┌──────────────────────────────┐
//             │ free                         │
//   page ─────┴──┬────────┬────────┬─────────┴─┬── page
//             │  │ unmapped        │ free      │
//             └──┴─────────────────┴───────────┘
void CachingAllocator::UnmapFree(BlockId id) {
  const HeapId heap = blocks_[id].heap;
  const uint64_t begin = blocks_[id].address;
  const int64_t size = blocks_[id].size;
  uint64_t range = 0;
  for (const uint64_t each : heaps_[heap].ranges) {
    if (each <= begin && each > range) range = each;
  }
  const int64_t page = PageOf(heap);
  const auto offset = static_cast<int64_t>(begin - range);
  const int64_t first = RoundUp(offset, page) - offset;
  const int64_t end = (offset + size) / page * page - offset;
  if (first >= end) return;

  RemoveFree(id);
  if (end < size) {
    blocks_[id].size = end;
    InsertFree(AddAfter(id, size - end, BlockState::kFree));
  }
  if (first > 0) {
    blocks_[id].size = first;
    const BlockId middle = AddAfter(id, end - first, BlockState::kUnmapped);
    InsertFree(id);
    id = middle;
  }
  blocks_[id].state = BlockState::kUnmapped;
  ChangeReserved(EventKind::kSegmentUnmap, blocks_[id], first - end);
  const BlockId previous = blocks_[id].previous;
  if (previous != kNoBlock &&
      blocks_[previous].state == BlockState::kUnmapped) {
    RemoveUnmapped(previous);
    blocks_[id].address = blocks_[previous].address;
    Absorb(id, previous);
  }
  const BlockId next = blocks_[id].next;
  if (next != kNoBlock && blocks_[next].state == BlockState::kUnmapped) {
    RemoveUnmapped(next);
    Absorb(id, next);
  }
  if (blocks_[id].IsSplit()) {
    InsertUnmapped(id);
  } else {
    RemoveRange(id);
  }
}

// All of a range is unmapped.
void CachingAllocator::RemoveRange(BlockId id) {
  std::erase(heaps_[blocks_[id].heap].ranges, blocks_[id].address);
  addresses_.Remove(blocks_[id].address, blocks_[id].size);
  blocks_.Remove(id);
}

void CachingAllocator::InsertUnmapped(BlockId id) {
  std::vector<BlockId>& unmapped = heaps_[blocks_[id].heap].unmapped;
  unmapped.insert(std::upper_bound(unmapped.begin(), unmapped.end(), id,
                                   [this](BlockId a, BlockId b) {
                                     return blocks_[a].address <
                                            blocks_[b].address;
                                   }),
                  id);
}

void CachingAllocator::RemoveUnmapped(BlockId id) {
  std::vector<BlockId>& unmapped = heaps_[blocks_[id].heap].unmapped;
  unmapped.erase(std::lower_bound(
      unmapped.begin(), unmapped.end(), id, [this](BlockId a, BlockId b) {
        return blocks_[a].address < blocks_[b].address;
      }));
}

}  // namespace memplan
