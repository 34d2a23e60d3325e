// How the slow allocator gets memory piece by piece, and gives it back.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "tests/planner/allocator/slow_allocator.h"

namespace memplan::testing {
namespace {

constexpr int64_t kMost = int64_t{1} << 60;

int64_t Up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

bool IsRoom(BlockState state) {
  return state == BlockState::kFree || state == BlockState::kUnmapped;
}

}  // namespace

std::optional<uint64_t> SlowAllocator::MapNew(int64_t size, bool is_small,
                                              uint32_t stream) {
  const int64_t needed =
      rules_.maps_what_is_needed ? size : std::max(size, SegmentSize(size));
  const int64_t total = std::min(conditions_.device_total.count(), kMost);
  const int64_t range = Up(total + total / 8, PageOf(is_small));
  if (needed > range) return std::nullopt;
  std::optional<uint64_t> begin = FindRoom(needed, is_small, stream);
  if (!begin.has_value()) {
    begin = addresses_.AddRange(range);
    if (!begin.has_value()) return std::nullopt;
    segments_[*begin] = {range, stream, is_small};
    blocks_[*begin] = {
        .size = range, .segment = *begin, .state = BlockState::kUnmapped};
  }
  while (blocks_[*begin].state == BlockState::kUnmapped ||
         blocks_[*begin].size < needed) {
    const bool is_mapped = blocks_[*begin].state == BlockState::kFree;
    const uint64_t next = is_mapped ? *After(*begin) : *begin;
    const int64_t lacking = needed - (is_mapped ? blocks_[*begin].size : 0);
    begin = MapPiece(next, lacking);
    if (!begin.has_value()) return std::nullopt;
  }
  EraseFree(*begin);
  return begin;
}

// Where blocks without content of that size together begin.
std::optional<uint64_t> SlowAllocator::FindRoom(int64_t size, bool is_small,
                                                uint32_t stream) const {
  for (const auto& [address, block] : blocks_) {
    const Segment& segment = segments_.at(block.segment);
    if (block.state != BlockState::kUnmapped || segment.is_small != is_small ||
        segment.stream != stream) {
      continue;
    }
    const auto before = Before(address);
    const bool begins_before = rules_.room_begins_before && before &&
                               blocks_.at(*before).state == BlockState::kFree;
    const uint64_t begin = begins_before ? *before : address;
    int64_t room = 0;
    for (std::optional<uint64_t> at = begin;
         at && IsRoom(blocks_.at(*at).state); at = After(*at)) {
      room += blocks_.at(*at).size;
    }
    if (room >= size) return begin;
  }
  return std::nullopt;
}

std::optional<uint64_t> SlowAllocator::MapPiece(uint64_t address,
                                                int64_t wanted) {
  SlowBlock& block = blocks_[address];
  const int64_t piece = std::min(
      Up(std::min(wanted, block.size), PageOf(IsSmall(address))), block.size);
  const int64_t device =
      std::min(conditions_.device_free.value_or(Bytes(kMost)).count(), kMost);
  if (reserved_ > device - piece) return std::nullopt;
  if (piece < block.size) CutAt(address, piece);
  blocks_[address].state = BlockState::kFree;
  addresses_.OnMap(address, piece);
  ChangeReserved(EventKind::kSegmentMap, address, piece);
  const uint64_t merged = Merge(address);
  InsertFree(merged);
  return merged;
}

void SlowAllocator::Unmap(uint64_t address) {
  const uint64_t segment = blocks_[address].segment;
  const int64_t page = PageOf(IsSmall(address));
  const uint64_t origin = rules_.pages_from_range ? segment : 0;
  const auto begin = static_cast<int64_t>(address - origin);
  const int64_t end = begin + blocks_[address].size;
  const int64_t first = Up(begin, page);
  const int64_t last = end / page * page;
  if (first >= last) return;
  if (!rules_.unmaps_parts && (first > begin || last < end)) return;
  EraseFree(address);
  if (last < end) {
    CutAt(address, last - begin);
    InsertFree(origin + static_cast<uint64_t>(last));
  }
  if (first > begin) {
    CutAt(address, first - begin);
    InsertFree(address);
    address = origin + static_cast<uint64_t>(first);
  }
  blocks_[address].state = BlockState::kUnmapped;
  ChangeReserved(EventKind::kSegmentUnmap, address, first - last);
  address = Merge(address);
  if (rules_.removes_ranges && IsWhole(address)) {
    addresses_.Remove(address, blocks_[address].size);
    blocks_.erase(address);
    segments_.erase(address);
  }
}

void SlowAllocator::Collect() {
  const double share = conditions_.settings.garbage_collection_threshold;
  const auto cap = conditions_.EffectiveCap();
  if (rules_.collection == Collection::kNever || share <= 0 || !cap ||
      expandable_) {
    return;
  }
  const double threshold =
      share * static_cast<double>(std::min(cap->count(), kMost));
  const auto is_above = [&] {
    return static_cast<double>(reserved_) > threshold ||
           rules_.collection == Collection::kAlways;
  };
  std::vector<uint64_t> whole;
  for (const bool is_small : {false, true}) {
    if (is_small && !rules_.collection_of_both_pools) continue;
    for (const Place& place : free_[is_small]) {
      if (IsWhole(place.address)) whole.push_back(place.address);
    }
  }
  const auto age_of = [&](uint64_t address) {
    return Searches(IsSmall(address)) - blocks_[address].free_since;
  };
  while (is_above() && !whole.empty()) {
    int64_t total = 0;
    for (const uint64_t address : whole) total += age_of(address);
    double mean =
        static_cast<double>(total) / static_cast<double>(whole.size());
    if (rules_.collection_truncates_mean) mean = std::floor(mean);
    std::vector<uint64_t> kept;
    for (const uint64_t address : whole) {
      const bool is_done =
          rules_.collection == Collection::kStopsAtTarget && !is_above();
      if (static_cast<double>(age_of(address)) >= mean && !is_done) {
        ReleaseSegment(address);
      } else {
        kept.push_back(address);
      }
    }
    if (kept.size() == whole.size()) return;
    whole = kept;
    if (rules_.collection == Collection::kOneRound) return;
  }
}

bool SlowAllocator::ReleaseAvailable(int64_t size, bool is_small,
                                     uint32_t stream) {
  if (expandable_) return false;
  const int64_t key = std::max(size, max_split_);
  const uint64_t handle = streams_[stream];
  const FreeSet& free = free_[is_small];
  const auto enough = free.lower_bound({handle, key, 0});
  if (enough != free.end() && enough->stream == handle) {
    if (IsWhole(enough->address)) ReleaseSegment(enough->address);
    return true;
  }
  int64_t released = 0;
  while (released < key || !rules_.available_stops_at_key) {
    const auto above = free.lower_bound({handle, key, 0});
    if (above == free.begin()) break;
    const Place largest = *std::prev(above);
    if (largest.stream != handle || largest.size < max_split_) break;
    released += largest.size;
    ReleaseSegment(largest.address);
  }
  return released >= key;
}

void SlowAllocator::ReleaseAll(uint32_t stream) {
  CompleteFrees();
  ReleasePool(!rules_.releases_large_first, stream);
  ReleasePool(rules_.releases_large_first, stream);
}

void SlowAllocator::ReleasePool(bool is_small, uint32_t stream) {
  const FreeSet before = free_[is_small];
  for (const Place& place : before) {
    if (!rules_.releases_all_streams && place.stream != streams_[stream]) {
      continue;
    }
    if (expandable_) {
      Unmap(place.address);
    } else if (IsWhole(place.address)) {
      ReleaseSegment(place.address);
    }
  }
}

void SlowAllocator::ReleaseSegment(uint64_t address) {
  EraseFree(address);
  const int64_t size = blocks_[address].size;
  blocks_.erase(address);
  segments_.erase(address);
  ChangeReserved(EventKind::kSegmentFree, address, -size);
  addresses_.Remove(address, size);
}

void SlowAllocator::CompleteFrees() {
  std::vector<uint64_t> awaited;
  for (const auto& [address, block] : blocks_) {
    if (block.state == BlockState::kFreeRequested) awaited.push_back(address);
  }
  for (const uint64_t address : awaited) Free(address);
}

}  // namespace memplan::testing
