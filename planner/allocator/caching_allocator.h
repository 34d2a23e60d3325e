// PyTorch's CUDA caching allocator as a value: the same decisions from the same
// requests, without a device. docs/allocator.md explains the rules in the order
// of these sources: caching_allocator.cc (requests and frees),
// expandable_segments.cc, release.cc (what goes back), counting.cc.
//
// It is the engine under a replay and knows no trace: whoever calls keeps the
// ids. Reset() keeps the memory, so that replays after the first allocate none.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_CACHING_ALLOCATOR_H_
#define MEMPLAN_PLANNER_ALLOCATOR_CACHING_ALLOCATOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/block.h"
#include "planner/allocator/conditions.h"
#include "planner/allocator/counters.h"
#include "planner/allocator/free_blocks.h"
#include "planner/allocator/rounding.h"
#include "planner/trace/event.h"

namespace memplan {

// A peak and the event at which it was first reached.
struct Peak {
  Bytes bytes;
  uint32_t event = 0;

  friend bool operator==(const Peak&, const Peak&) = default;
};

struct AllocatorPeaks {
  Peak requested;
  Peak allocated;
  Peak active;
  Peak reserved;
  // For fragmentation: the other number at that moment. What made reserved grow
  // is not yet allocated then.
  Bytes reserved_at_peak_allocated;
  Bytes allocated_at_peak_reserved;

  friend bool operator==(const AllocatorPeaks&,
                         const AllocatorPeaks&) = default;
};

// Is told when memory comes from the driver and goes back.
class SegmentListener {
 public:
  virtual ~SegmentListener() = default;
  // `kind` is one of kSegmentAlloc, …Free, …Map and …Unmap; `event` is what
  // set_event() was told last.
  virtual void OnSegment(EventKind kind, uint64_t address, int64_t size,
                         uint32_t event) = 0;
};

// Not thread-safe; several may run side by side.
class CachingAllocator {
 public:
  // Streams beyond are refused as out of memory.
  static constexpr size_t kMaxStreams = 1024;

  // `addresses`, and the listener and counters if any, must outlive this. The
  // conditions stay; they are not looked at again.
  CachingAllocator(const AllocatorConditions& conditions,
                   AddressSource& addresses);
  void set_listener(SegmentListener* listener) { listener_ = listener; }
  void set_counters(AllocatorCounters* counters) { counters_ = counters; }

  // As new, for the streams of these handles, whose ids are their places; the
  // first is the default stream. Resets the addresses too.
  void Reset(std::span<const uint64_t> streams);
  void Reset();

  // Hands out a block for `bytes`. kNoBlock if that fails, after the allocator
  // has given back what it can.
  BlockId Malloc(int64_t bytes, uint32_t stream = 0);
  // The program gives a block back, but the device still works on it; Free or
  // the next EmptyCache or retry completes it. Only for blocks handed out.
  void RequestFree(BlockId id);
  // Gives a block back, or completes that.
  void Free(BlockId id);
  // Returns to the driver what holds no block in use.
  void EmptyCache() { ReleaseAll(); }

  // The index that peaks from now on are noted under.
  void set_event(uint32_t event) { event_ = event; }
  // Peaks since Reset or the last ResetPeaks, which sets them to what is now.
  const AllocatorPeaks& peaks() const { return peaks_; }
  void ResetPeaks();

  Bytes requested() const { return Bytes(requested_); }
  Bytes allocated() const { return Bytes(active_ - awaited_); }
  Bytes active() const { return Bytes(active_); }
  Bytes reserved() const { return Bytes(reserved_); }
  // How often everything was released and the request tried again.
  int64_t retries() const { return retries_; }
  // Requests that failed.
  int64_t ooms() const { return ooms_; }
  // Segments given back, and pieces unmapped.
  int64_t segments_freed() const { return segments_freed_; }
  // How often all frees that were requested have been completed.
  int64_t completions() const { return completions_; }

  // Whether the addresses could be what was asked for (AddressSource::status).
  absl::Status address_status() const { return addresses_.status(); }

  // For looking at the blocks; those in state kGone are none.
  const BlockTable& blocks() const { return blocks_; }
  uint32_t StreamOf(const Block& block) const { return block.heap / 2; }
  bool IsSmall(const Block& block) const { return IsSmallHeap(block.heap); }
  bool has_expandable_segments() const { return expandable_; }

 private:
  // The memory of one stream in one pool.
  struct Heap {
    FreeBlocks free;
    // Of expandable segments, by address.
    std::vector<BlockId> unmapped;
    std::vector<uint64_t> ranges;  // where each begins
  };
  using HeapId = uint16_t;

  // Heaps of one stream stand together, the small one first.
  static HeapId HeapOf(uint32_t stream, bool is_small) {
    return static_cast<HeapId>(stream * 2 + (is_small ? 0 : 1));
  }
  static bool IsSmallHeap(HeapId heap) { return heap % 2 == 0; }
  int64_t PageOf(HeapId heap) const {
    return IsSmallHeap(heap) ? kSmallSegment : large_page_;
  }
  int64_t RangeSizeOf(HeapId heap) const {
    return RoundUp(range_size_, PageOf(heap));
  }

  // caching_allocator.cc
  BlockId FindFree(HeapId heap, int64_t size);
  BlockId TakeNew(HeapId heap, int64_t size);
  BlockId AskDriver(HeapId heap, int64_t size);
  bool IsWorthSplitting(HeapId heap, int64_t size, int64_t remaining) const;
  BlockId CutFront(BlockId id, int64_t size, bool is_new);
  bool GrowNeighbour(BlockId id);
  void MergeNeighbours(BlockId id);
  void Absorb(BlockId id, BlockId neighbour);
  void Unlink(BlockId id);
  BlockId AddBefore(BlockId id, uint64_t address, int64_t size);
  BlockId AddAfter(BlockId id, int64_t size, BlockState state);
  void InsertFree(BlockId id);
  void RemoveFree(BlockId id) {
    heaps_[blocks_[id].heap].free.Remove(blocks_, id);
  }
  void NotePeaks();
  void ChangeReserved(EventKind kind, const Block& block, int64_t by);

  // counting.cc
  void CountAlloc(BlockId id, int64_t taken_split);
  void CountFreeRequested(const Block& block);
  void CountFreed(const Block& block);
  void CountSegment(EventKind kind, const Block& block, int64_t by);

  // expandable_segments.cc
  BlockId PreferEnclosed(HeapId heap, BlockId id) const;
  BlockId MapNew(HeapId heap, int64_t size);
  BlockId FindRoom(HeapId heap, int64_t size) const;
  bool HasRoom(BlockId from, int64_t size) const;
  BlockId AddRange(HeapId heap);
  bool MapPiece(BlockId id, int64_t wanted);
  void UnmapFree(BlockId id);
  void RemoveRange(BlockId id);
  void InsertUnmapped(BlockId id);
  void RemoveUnmapped(BlockId id);

  // release.cc
  void CollectGarbage();
  bool ReleaseAvailable(HeapId heap, int64_t size);
  void ReleaseAll();
  void ReleasePool(bool is_small);
  void ReleaseSegment(BlockId id);
  void CompleteFrees();
  void GatherFree(bool is_small, bool whole_only);

  const Rounding rounding_;
  const bool expandable_;
  const int64_t max_split_;
  const int64_t max_non_split_rounding_;
  const int64_t large_page_;
  const int64_t range_size_;     // before rounding to pages
  const int64_t cap_;            // a large number: none
  const int64_t device_free_;    // likewise
  const int64_t collect_above_;  // reserved bytes; negative: never
  AddressSource& addresses_;
  SegmentListener* listener_ = nullptr;
  AllocatorCounters* counters_ = nullptr;

  BlockTable blocks_;
  std::vector<Heap> heaps_;
  std::vector<uint32_t> by_handle_;        // stream ids, by their handles
  std::array<uint32_t, 2> searches_ = {};  // of the large and the small pool
  std::vector<BlockId> awaited_blocks_;    // whose free was requested
  std::vector<BlockId> gathered_;          // for one walk over a pool

  uint32_t event_ = 0;
  int64_t requested_ = 0;
  int64_t active_ = 0;
  int64_t awaited_ = 0;  // of active: whose free was requested
  int64_t reserved_ = 0;
  int64_t retries_ = 0;
  int64_t ooms_ = 0;
  int64_t segments_freed_ = 0;
  int64_t completions_ = 0;
  AllocatorPeaks peaks_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_CACHING_ALLOCATOR_H_
