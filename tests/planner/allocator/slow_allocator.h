// The caching allocator once more, slow and obvious: ordered sets, maps by
// address, no links, nothing kept that can be looked up. Written from the rules
// in docs/allocator.md, to be compared with planner/allocator. Each rule that can
// be got wrong a little is a field of SlowRules, so that the tests can do so.
#ifndef MEMPLAN_TESTS_PLANNER_ALLOCATOR_SLOW_ALLOCATOR_H_
#define MEMPLAN_TESTS_PLANNER_ALLOCATOR_SLOW_ALLOCATOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "planner/allocator/address_source.h"
#include "planner/allocator/block_map.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/conditions.h"

namespace memplan::testing {

enum class Collection { kAsIs, kNever, kAlways, kOneRound, kStopsAtTarget };

// The rules, as they are unless changed.
struct SlowRules {
  // Sizes.
  int64_t unit = 512;
  int64_t small_limit = 1 << 20;
  int64_t small_segment = 2 << 20;
  int64_t large_segment_change = 0;  // added to the setting
  int64_t direct_limit = 10 << 20;
  int64_t granule = 2 << 20;
  int first_divided_power = 20;
  bool small_sizes_divided = true;
  // Search.
  bool lowest_address_first = true;
  bool least_size_first = true;
  bool streams_apart = true;
  bool refuses_oversize = true;           // size < max_split <= block
  bool refuses_rounding = true;           // block >= size + rounding
  bool refuses_oversize_at_limit = true;  // … also block == max_split
  bool refuses_rounding_at_limit = true;
  bool prefers_enclosed = true;
  // Splitting and merging.
  int64_t small_rest = 512;
  int64_t large_waste = 1 << 20;  // kept if the rest is no more than it
  bool splits_oversize = false;
  bool expandable_splits_finely = true;
  bool expandable_obeys_max_split = false;
  bool request_takes_front = true;
  bool merges_previous = true;
  bool merges_next = true;
  // Giving back.
  Collection collection = Collection::kAsIs;
  bool collection_truncates_mean = false;
  bool collection_of_both_pools = false;
  bool ages_by_pool = true;
  bool collects_before_driver = true;
  bool releases_available = true;
  bool available_stops_at_key = true;
  bool releases_all = true;
  bool releases_large_first = true;
  bool releases_all_streams = true;
  // The driver and the cap.
  bool cap_is_inclusive = true;
  bool cap_counts_segment = true;
  // Expandable segments.
  bool room_begins_before = true;
  int64_t small_page = 2 << 20;
  int64_t large_page_change = 0;
  bool pages_from_range = true;
  bool unmaps_parts = true;
  bool removes_ranges = true;
  bool maps_what_is_needed = true;
};

// Not thread-safe.
class SlowAllocator {
 public:
  SlowAllocator(const AllocatorConditions& conditions, AddressSource& addresses,
                std::span<const uint64_t> streams, const SlowRules& rules = {});
  void set_listener(SegmentListener* listener) { listener_ = listener; }
  void set_event(uint32_t event) { event_ = event; }

  // The block's address; none if the request fails.
  std::optional<uint64_t> Malloc(int64_t bytes, uint32_t stream);
  // Of blocks handed out, by their addresses.
  void RequestFree(uint64_t address);
  void Free(uint64_t address);
  void EmptyCache() { ReleaseAll(0); }

  int64_t requested() const { return requested_; }
  int64_t allocated() const { return allocated_; }
  int64_t active() const { return active_; }
  int64_t reserved() const { return reserved_; }
  int64_t peak_requested() const { return peak_requested_; }
  int64_t peak_allocated() const { return peak_allocated_; }
  int64_t peak_active() const { return peak_active_; }
  int64_t peak_reserved() const { return peak_reserved_; }
  int64_t retries() const { return retries_; }
  int64_t ooms() const { return ooms_; }
  int64_t segments_freed() const { return segments_freed_; }

  // Bytes in free blocks whose segment holds others.
  int64_t InactiveSplitBytes() const;
  std::vector<MappedSegment> Map() const;

 private:
  struct SlowBlock {
    int64_t size = 0;
    int64_t requested = 0;
    uint64_t segment = 0;  // where it begins
    BlockState state = BlockState::kFree;
    int64_t free_since = 0;
  };
  struct Segment {
    int64_t size = 0;
    uint32_t stream = 0;
    bool is_small = false;
  };
  // The order in which free blocks are looked at.
  struct Place {
    uint64_t stream = 0;  // the handle
    int64_t size = 0;
    uint64_t address = 0;
    friend bool operator<(const Place& a, const Place& b) {
      return std::tie(a.stream, a.size, a.address) <
             std::tie(b.stream, b.size, b.address);
    }
  };
  using Blocks = std::map<uint64_t, SlowBlock>;
  using FreeSet = std::set<Place>;

  int64_t BlockSize(int64_t bytes) const;
  int64_t SegmentSize(int64_t size) const;
  int64_t LargeSegment() const;
  int64_t PageOf(bool is_small) const;
  bool IsRefused(int64_t size, int64_t found) const;

  std::optional<uint64_t> TakeFree(int64_t size, bool is_small,
                                   uint32_t stream);
  FreeSet::iterator Prefer(FreeSet& free, FreeSet::iterator found) const;
  std::optional<uint64_t> TakeNew(int64_t size, bool is_small, uint32_t stream);
  std::optional<uint64_t> AskDriver(int64_t size, bool is_small,
                                    uint32_t stream);
  std::optional<uint64_t> MapNew(int64_t size, bool is_small, uint32_t stream);
  std::optional<uint64_t> FindRoom(int64_t size, bool is_small,
                                   uint32_t stream) const;
  std::optional<uint64_t> MapPiece(uint64_t address, int64_t wanted);
  bool MaySplit(int64_t size, int64_t remaining, bool is_small) const;
  uint64_t Split(uint64_t address, int64_t size);
  uint64_t Merge(uint64_t address);
  void CutAt(uint64_t address, int64_t size);
  void InsertFree(uint64_t address);
  void EraseFree(uint64_t address);

  void Collect();
  bool ReleaseAvailable(int64_t size, bool is_small, uint32_t stream);
  void ReleaseAll(uint32_t stream);
  void ReleasePool(bool is_small, uint32_t stream);
  void ReleaseSegment(uint64_t address);
  void Unmap(uint64_t address);
  void CompleteFrees();
  void ChangeReserved(EventKind kind, uint64_t address, int64_t by);

  const Segment& SegmentOf(uint64_t address) const;
  bool IsSmall(uint64_t address) const { return SegmentOf(address).is_small; }
  bool IsWhole(uint64_t address) const;
  Place PlaceOf(uint64_t address) const;
  int64_t Growable(uint64_t address) const;
  // Neighbours in the same segment; none at its ends.
  std::optional<uint64_t> Before(uint64_t address) const;
  std::optional<uint64_t> After(uint64_t address) const;
  int64_t& Searches(bool is_small);

  const AllocatorConditions conditions_;
  const SlowRules rules_;
  const bool expandable_;
  const int64_t max_split_;
  AddressSource& addresses_;
  const std::vector<uint64_t> streams_;
  SegmentListener* listener_ = nullptr;

  Blocks blocks_;
  std::map<uint64_t, Segment> segments_;
  std::map<bool, FreeSet> free_;      // by pool
  std::map<bool, int64_t> searches_;  // by pool
  uint32_t event_ = 0;
  int64_t requested_ = 0;
  int64_t allocated_ = 0;
  int64_t active_ = 0;
  int64_t reserved_ = 0;
  int64_t peak_requested_ = 0;
  int64_t peak_allocated_ = 0;
  int64_t peak_active_ = 0;
  int64_t peak_reserved_ = 0;
  int64_t retries_ = 0;
  int64_t ooms_ = 0;
  int64_t segments_freed_ = 0;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_ALLOCATOR_SLOW_ALLOCATOR_H_
