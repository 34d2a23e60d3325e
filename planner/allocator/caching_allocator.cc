#include "planner/allocator/caching_allocator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

namespace memplan {
namespace {

// More than may ever be held, and far from overflow.
constexpr int64_t kNoLimit = kMaxRequest;

// A rest is worth a block of its own from here.
constexpr int64_t kMinSmallRest = kMinBlock;
constexpr int64_t kMaxLargeWaste = kSmallLimit;

int64_t Limit(const std::optional<Bytes>& bytes) {
  return std::clamp(bytes.value_or(Bytes(kNoLimit)).count(), int64_t{0},
                    kNoLimit);
}

// Collection wants a cap; -1 if there is none or no threshold.
int64_t CollectAbove(const AllocatorConditions& conditions) {
  const std::optional<Bytes> cap = conditions.EffectiveCap();
  const double share = conditions.settings.garbage_collection_threshold;
  if (!cap.has_value() || share <= 0) return -1;
  return static_cast<int64_t>(
      std::floor(share * static_cast<double>(Limit(cap))));
}

// 9/8 of the device, before rounding to pages.
int64_t RangeSize(const AllocatorConditions& conditions) {
  const int64_t total = Limit(conditions.device_total);
  return total + total / 8;
}

void Raise(Peak& peak, int64_t bytes, uint32_t event) {
  if (bytes > peak.bytes.count()) peak = {Bytes(bytes), event};
}

}  // namespace

CachingAllocator::CachingAllocator(const AllocatorConditions& conditions,
                                   AddressSource& addresses)
    : rounding_(conditions.settings),
      expandable_(conditions.settings.expandable_segments),
      max_split_(conditions.settings.max_split_size.count()),
      max_non_split_rounding_(
          conditions.settings.max_non_split_rounding.count()),
      large_page_(conditions.settings.large_segment_size.count()),
      range_size_(RangeSize(conditions)),
      cap_(Limit(conditions.EffectiveCap())),
      device_free_(Limit(conditions.device_free)),
      collect_above_(CollectAbove(conditions)),
      addresses_(addresses) {
  Reset();
}

void CachingAllocator::Reset() {
  constexpr std::array<uint64_t, 1> kDefaultStream = {0};
  Reset(kDefaultStream);
}

void CachingAllocator::Reset(std::span<const uint64_t> streams) {
  const size_t count = std::min(streams.size(), kMaxStreams);
  by_handle_.resize(count);
  std::iota(by_handle_.begin(), by_handle_.end(), 0);
  std::sort(by_handle_.begin(), by_handle_.end(),
            [&](uint32_t a, uint32_t b) { return streams[a] < streams[b]; });
  heaps_.resize(2 * count);
  for (Heap& heap : heaps_) {
    heap.free.Clear();
    heap.unmapped.clear();
    heap.ranges.clear();
  }
  blocks_.Clear();
  awaited_blocks_.clear();
  searches_ = {};
  event_ = 0;
  requested_ = active_ = awaited_ = reserved_ = 0;
  retries_ = ooms_ = segments_freed_ = completions_ = 0;
  peaks_ = {};
  if (counters_ != nullptr) *counters_ = {};
  addresses_.Reset();
}

BlockId CachingAllocator::Malloc(int64_t bytes, uint32_t stream) {
  BlockId id = kNoBlock;
  int64_t taken_split = 0;
  if (bytes >= 1 && bytes <= kMaxRequest && stream < by_handle_.size()) {
    const int64_t size = rounding_.BlockSize(bytes);
    const HeapId heap = HeapOf(stream, size <= kSmallLimit);
    id = FindFree(heap, size);
    const bool is_new = id == kNoBlock;
    if (is_new) [[unlikely]]
      id = TakeNew(heap, size);
    if (id != kNoBlock) {
      if (counters_ != nullptr && blocks_[id].IsSplit()) {
        taken_split = blocks_[id].size;
      }
      id = CutFront(id, size, is_new);
    }
  }
  if (id == kNoBlock) {
    ++ooms_;
    if (counters_ != nullptr) ++counters_->num_ooms;
    return kNoBlock;
  }
  Block& block = blocks_[id];
  block.state = BlockState::kAllocated;
  block.requested = bytes;
  requested_ += bytes;
  active_ += block.size;
  NotePeaks();
  if (counters_ != nullptr) CountAlloc(id, taken_split);
  return id;
}

// Best fit: the least block of the stream that is large enough, unless the
// settings refuse it; then there is none.
BlockId CachingAllocator::FindFree(HeapId heap, int64_t size) {
  if (collect_above_ >= 0) ++searches_[IsSmallHeap(heap)];
  BlockId id = heaps_[heap].free.FirstAtLeast(blocks_, size);
  if (id == kNoBlock) return kNoBlock;
  if (expandable_) id = PreferEnclosed(heap, id);
  const int64_t found = blocks_[id].size;
  const bool is_refused = size < max_split_
                              ? found >= max_split_
                              : found >= size + max_non_split_rounding_;
  return is_refused ? kNoBlock : id;
}

// What happens, in this order, when no free block serves.
BlockId CachingAllocator::TakeNew(HeapId heap, int64_t size) {
  if (collect_above_ >= 0) CollectGarbage();
  BlockId id = AskDriver(heap, size);
  if (id == kNoBlock && max_split_ < kUnbounded.count() &&
      ReleaseAvailable(heap, size)) {
    id = AskDriver(heap, size);
  }
  if (id == kNoBlock) {
    ReleaseAll();
    ++retries_;
    if (counters_ != nullptr) ++counters_->num_alloc_retries;
    id = AskDriver(heap, size);
  }
  return id;
}

// The cap is compared with the size of a segment even where only pages would be
// mapped, so that expandable segments may pass it by a part of a page.
BlockId CachingAllocator::AskDriver(HeapId heap, int64_t size) {
  const int64_t segment = rounding_.SegmentSize(size);
  if (segment > cap_ - reserved_) return kNoBlock;
  if (expandable_) return MapNew(heap, size);
  if (segment > device_free_ - reserved_) return kNoBlock;
  const std::optional<uint64_t> address = addresses_.AddSegment(segment);
  if (!address.has_value()) return kNoBlock;
  const BlockId id = blocks_.Add(*address, segment, heap, BlockState::kFree);
  ChangeReserved(EventKind::kSegmentAlloc, blocks_[id], segment);
  return id;
}

bool CachingAllocator::IsWorthSplitting(HeapId heap, int64_t size,
                                        int64_t remaining) const {
  if (IsSmallHeap(heap) || expandable_) return remaining >= kMinSmallRest;
  return size < max_split_ && remaining > kMaxLargeWaste;
}

// Takes `size` bytes off the front of a free block, or all of it if the rest is
// not worth a block; returns what is taken. A new block is not in the set yet.
BlockId CachingAllocator::CutFront(BlockId id, int64_t size, bool is_new) {
  Block& block = blocks_[id];
  const HeapId heap = block.heap;
  FreeBlocks& free = heaps_[heap].free;
  const int64_t rest = block.size - size;
  if (rest == 0 || !IsWorthSplitting(heap, size, rest)) {
    if (!is_new) free.Remove(blocks_, id);
    return id;
  }
  const uint64_t address = block.address;
  if (!is_new &&
      free.Resize(blocks_, id, address + static_cast<uint64_t>(size), rest)) {
    block.free_since = searches_[IsSmallHeap(heap)];
    return AddBefore(id, address, size);
  }
  if (!is_new) free.Remove(blocks_, id);
  block.size = size;
  InsertFree(AddAfter(id, rest, BlockState::kFree));
  return id;
}

BlockId CachingAllocator::AddBefore(BlockId id, uint64_t address,
                                    int64_t size) {
  const BlockId added =
      blocks_.Add(address, size, blocks_[id].heap, BlockState::kAllocated);
  const BlockId previous = blocks_[id].previous;
  blocks_[added].previous = previous;
  blocks_[added].next = id;
  if (previous != kNoBlock) blocks_[previous].next = added;
  blocks_[id].previous = added;
  return added;
}

BlockId CachingAllocator::AddAfter(BlockId id, int64_t size, BlockState state) {
  const Block& front = blocks_[id];
  const BlockId added =
      blocks_.Add(front.address + static_cast<uint64_t>(front.size), size,
                  front.heap, state);
  blocks_[added].previous = id;
  blocks_[added].next = blocks_[id].next;
  if (blocks_[id].next != kNoBlock) blocks_[blocks_[id].next].previous = added;
  blocks_[id].next = added;
  return added;
}

void CachingAllocator::InsertFree(BlockId id) {
  Block& block = blocks_[id];
  block.state = BlockState::kFree;
  block.free_since = searches_[IsSmallHeap(block.heap)];
  heaps_[block.heap].free.Insert(blocks_, id);
}

void CachingAllocator::RequestFree(BlockId id) {
  Block& block = blocks_[id];
  block.state = BlockState::kFreeRequested;
  block.left = static_cast<BlockId>(awaited_blocks_.size());
  awaited_blocks_.push_back(id);
  awaited_ += block.size;
  if (counters_ != nullptr) CountFreeRequested(block);
}

void CachingAllocator::Free(BlockId id) {
  Block& block = blocks_[id];
  requested_ -= block.requested;
  active_ -= block.size;
  if (block.state == BlockState::kFreeRequested) [[unlikely]] {
    awaited_ -= block.size;
    const BlockId last = awaited_blocks_.back();
    awaited_blocks_[block.left] = last;
    blocks_[last].left = block.left;
    awaited_blocks_.pop_back();
  } else if (counters_ != nullptr) {
    CountFreeRequested(block);
  }
  if (counters_ != nullptr) CountFreed(block);
  if (GrowNeighbour(id)) return;
  MergeNeighbours(id);
  InsertFree(id);
}

// The short way for a block with one free neighbour: that one grows where it is
// in the set. False if it cannot.
bool CachingAllocator::GrowNeighbour(BlockId id) {
  const Block& block = blocks_[id];
  const bool after_free = block.previous != kNoBlock &&
                          blocks_[block.previous].state == BlockState::kFree;
  const bool before_free =
      block.next != kNoBlock && blocks_[block.next].state == BlockState::kFree;
  if (after_free == before_free) return false;
  const BlockId keeper = after_free ? block.previous : block.next;
  Block& kept = blocks_[keeper];
  if (!heaps_[kept.heap].free.Resize(blocks_, keeper,
                                     after_free ? kept.address : block.address,
                                     kept.size + block.size)) {
    return false;
  }
  kept.free_since = searches_[IsSmallHeap(kept.heap)];
  Unlink(id);
  return true;
}

// Two free neighbours never stay apart.
void CachingAllocator::MergeNeighbours(BlockId id) {
  const BlockId previous = blocks_[id].previous;
  if (previous != kNoBlock && blocks_[previous].state == BlockState::kFree) {
    RemoveFree(previous);
    blocks_[id].address = blocks_[previous].address;
    Absorb(id, previous);
  }
  const BlockId next = blocks_[id].next;
  if (next != kNoBlock && blocks_[next].state == BlockState::kFree) {
    RemoveFree(next);
    Absorb(id, next);
  }
}

// The neighbour's memory becomes part of `id`; its address is left to the
// caller.
void CachingAllocator::Absorb(BlockId id, BlockId neighbour) {
  blocks_[id].size += blocks_[neighbour].size;
  Unlink(neighbour);
}

// Its neighbours become each other's, and its id is given up.
void CachingAllocator::Unlink(BlockId id) {
  const Block& gone = blocks_[id];
  if (gone.previous != kNoBlock) blocks_[gone.previous].next = gone.next;
  if (gone.next != kNoBlock) blocks_[gone.next].previous = gone.previous;
  blocks_.Remove(id);
}

void CachingAllocator::NotePeaks() {
  Raise(peaks_.requested, requested_, event_);
  Raise(peaks_.active, active_, event_);
  if (active_ - awaited_ > peaks_.allocated.bytes.count()) {
    peaks_.allocated = {allocated(), event_};
    peaks_.reserved_at_peak_allocated = reserved();
  }
}

void CachingAllocator::ResetPeaks() {
  peaks_ = {.requested = {requested(), event_},
            .allocated = {allocated(), event_},
            .active = {active(), event_},
            .reserved = {reserved(), event_},
            .reserved_at_peak_allocated = reserved(),
            .allocated_at_peak_reserved = allocated()};
}

void CachingAllocator::ChangeReserved(EventKind kind, const Block& block,
                                      int64_t by) {
  reserved_ += by;
  if (reserved_ > peaks_.reserved.bytes.count()) {
    peaks_.reserved = {reserved(), event_};
    peaks_.allocated_at_peak_reserved = allocated();
  }
  if (by < 0) ++segments_freed_;
  if (counters_ != nullptr) CountSegment(kind, block, by);
  if (listener_ != nullptr) {
    listener_->OnSegment(kind, block.address, by < 0 ? -by : by, event_);
  }
}

}  // namespace memplan
