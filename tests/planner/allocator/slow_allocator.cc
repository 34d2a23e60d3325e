#include "tests/planner/allocator/slow_allocator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

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

SlowAllocator::SlowAllocator(const AllocatorConditions& conditions,
                             AddressSource& addresses,
                             std::span<const uint64_t> streams,
                             const SlowRules& rules)
    : conditions_(conditions),
      rules_(rules),
      expandable_(conditions.settings.expandable_segments),
      max_split_(conditions.settings.max_split_size.count()),
      addresses_(addresses),
      streams_(streams.begin(), streams.end()) {
  addresses_.Reset();
}

int64_t SlowAllocator::BlockSize(int64_t bytes) const {
  if (bytes < rules_.unit) return rules_.unit;
  int power = 0;
  while ((bytes >> power) > 1) ++power;
  const int entry = std::clamp(power - rules_.first_divided_power, 0, 15);
  const uint64_t divisions =
      conditions_.settings.power2_divisions[static_cast<size_t>(entry)];
  const bool is_divided =
      rules_.small_sizes_divided || power >= rules_.first_divided_power;
  if (divisions > 1 && divisions < (uint64_t{1} << 50) && is_divided &&
      static_cast<uint64_t>(bytes) > 512 * divisions) {
    return Up(bytes, (int64_t{1} << power) / static_cast<int64_t>(divisions));
  }
  return Up(bytes, rules_.unit);
}

int64_t SlowAllocator::LargeSegment() const {
  return conditions_.settings.large_segment_size.count() +
         rules_.large_segment_change;
}

int64_t SlowAllocator::SegmentSize(int64_t size) const {
  if (size <= rules_.small_limit) return rules_.small_segment;
  if (size < rules_.direct_limit) return std::max(LargeSegment(), size);
  return Up(size, rules_.granule);
}

int64_t SlowAllocator::PageOf(bool is_small) const {
  return is_small ? rules_.small_page
                  : LargeSegment() + rules_.large_page_change;
}

int64_t& SlowAllocator::Searches(bool is_small) {
  return searches_[rules_.ages_by_pool && is_small];
}

std::optional<uint64_t> SlowAllocator::Malloc(int64_t bytes, uint32_t stream) {
  std::optional<uint64_t> address;
  if (bytes >= 1 && bytes <= kMost && stream < streams_.size()) {
    const int64_t size = BlockSize(bytes);
    const bool is_small = size <= rules_.small_limit;
    address = TakeFree(size, is_small, stream);
    if (!address.has_value()) address = TakeNew(size, is_small, stream);
    if (address.has_value() &&
        MaySplit(size, blocks_[*address].size - size, is_small)) {
      address = Split(*address, size);
    }
  }
  if (!address.has_value()) {
    ++ooms_;
    return std::nullopt;
  }
  SlowBlock& block = blocks_[*address];
  block.state = BlockState::kAllocated;
  block.requested = bytes;
  requested_ += bytes;
  allocated_ += block.size;
  active_ += block.size;
  peak_requested_ = std::max(peak_requested_, requested_);
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  peak_active_ = std::max(peak_active_, active_);
  return address;
}

bool SlowAllocator::IsRefused(int64_t size, int64_t found) const {
  if (size < max_split_) {
    const bool is_oversize = rules_.refuses_oversize_at_limit
                                 ? found >= max_split_
                                 : found > max_split_;
    return rules_.refuses_oversize && is_oversize;
  }
  const int64_t limit =
      size + conditions_.settings.max_non_split_rounding.count();
  const bool is_above =
      rules_.refuses_rounding_at_limit ? found >= limit : found > limit;
  return rules_.refuses_rounding && is_above;
}

std::optional<uint64_t> SlowAllocator::TakeFree(int64_t size, bool is_small,
                                                uint32_t stream) {
  ++Searches(is_small);
  FreeSet& free = free_[is_small];
  const uint64_t handle = streams_[stream];
  auto found = free.lower_bound({handle, size, 0});
  const auto is_candidate = [&](FreeSet::iterator at) {
    return at != free.end() && (at->stream == handle || !rules_.streams_apart);
  };
  if (!is_candidate(found)) return std::nullopt;
  if (!rules_.least_size_first) {
    while (is_candidate(std::next(found))) ++found;
  }
  if (!rules_.lowest_address_first) {
    while (is_candidate(std::next(found)) &&
           std::next(found)->size == found->size) {
      ++found;
    }
  }
  if (expandable_ && rules_.prefers_enclosed) found = Prefer(free, found);
  if (IsRefused(size, found->size)) return std::nullopt;
  const uint64_t address = found->address;
  free.erase(found);
  return address;
}

SlowAllocator::FreeSet::iterator SlowAllocator::Prefer(
    FreeSet& free, FreeSet::iterator found) const {
  for (auto next = std::next(found);
       next != free.end() && next->stream == found->stream &&
       Growable(next->address) < Growable(found->address);
       ++next) {
    found = next;
  }
  return found;
}

int64_t SlowAllocator::Growable(uint64_t address) const {
  const auto after = After(address);
  const bool can_grow =
      after && blocks_.at(*after).state == BlockState::kUnmapped;
  return blocks_.at(address).size + (can_grow ? blocks_.at(*after).size : 0);
}

std::optional<uint64_t> SlowAllocator::TakeNew(int64_t size, bool is_small,
                                               uint32_t stream) {
  if (rules_.collects_before_driver) Collect();
  auto address = AskDriver(size, is_small, stream);
  if (address.has_value()) return address;
  if (!rules_.collects_before_driver) Collect();
  if (max_split_ < kUnbounded.count() && rules_.releases_available &&
      ReleaseAvailable(size, is_small, stream)) {
    address = AskDriver(size, is_small, stream);
    if (address.has_value()) return address;
  }
  if (rules_.releases_all) ReleaseAll(stream);
  ++retries_;
  return AskDriver(size, is_small, stream);
}

std::optional<uint64_t> SlowAllocator::AskDriver(int64_t size, bool is_small,
                                                 uint32_t stream) {
  const int64_t segment = SegmentSize(size);
  const int64_t counted = rules_.cap_counts_segment ? segment : size;
  const int64_t cap = std::min(
      conditions_.EffectiveCap().value_or(Bytes(kMost)).count(), kMost);
  if (reserved_ + (rules_.cap_is_inclusive ? 0 : 1) > cap - counted) {
    return std::nullopt;
  }
  if (expandable_) return MapNew(size, is_small, stream);
  const int64_t device =
      std::min(conditions_.device_free.value_or(Bytes(kMost)).count(), kMost);
  if (reserved_ > device - segment) return std::nullopt;
  const auto address = addresses_.AddSegment(segment);
  if (!address.has_value()) return std::nullopt;
  segments_[*address] = {segment, stream, is_small};
  blocks_[*address] = {.size = segment, .segment = *address};
  ChangeReserved(EventKind::kSegmentAlloc, *address, segment);
  return address;
}

bool SlowAllocator::MaySplit(int64_t size, int64_t remaining,
                             bool is_small) const {
  const bool is_cut_finely =
      is_small || (expandable_ && rules_.expandable_splits_finely);
  const bool obeys =
      !is_cut_finely || (expandable_ && rules_.expandable_obeys_max_split);
  if (obeys && !rules_.splits_oversize && size >= max_split_) return false;
  return is_cut_finely ? remaining >= rules_.small_rest
                       : remaining > rules_.large_waste;
}

// Shortens a block; what lies behind becomes another of the same state.
void SlowAllocator::CutAt(uint64_t address, int64_t size) {
  SlowBlock rest = blocks_[address];
  rest.size -= size;
  blocks_[address].size = size;
  blocks_[address + static_cast<uint64_t>(size)] = rest;
}

uint64_t SlowAllocator::Split(uint64_t address, int64_t size) {
  const int64_t front =
      rules_.request_takes_front ? size : blocks_[address].size - size;
  CutAt(address, front);
  const uint64_t behind = address + static_cast<uint64_t>(front);
  InsertFree(rules_.request_takes_front ? behind : address);
  return rules_.request_takes_front ? address : behind;
}

void SlowAllocator::RequestFree(uint64_t address) {
  SlowBlock& block = blocks_[address];
  block.state = BlockState::kFreeRequested;
  allocated_ -= block.size;
}

void SlowAllocator::Free(uint64_t address) {
  if (blocks_[address].state != BlockState::kFreeRequested) {
    RequestFree(address);
  }
  SlowBlock& block = blocks_[address];
  active_ -= block.size;
  requested_ -= block.requested;
  block.state = BlockState::kFree;
  block.requested = 0;
  InsertFree(Merge(address));
}

// Joins a block that is in no set with its neighbours of the same state; returns
// where it then begins.
uint64_t SlowAllocator::Merge(uint64_t address) {
  const BlockState state = blocks_[address].state;
  const auto before = Before(address);
  const bool is_free = state == BlockState::kFree;
  if (before && blocks_[*before].state == state &&
      (rules_.merges_previous || !is_free)) {
    if (is_free) EraseFree(*before);
    blocks_[*before].size += blocks_[address].size;
    blocks_.erase(address);
    address = *before;
  }
  const auto after = After(address);
  if (after && blocks_[*after].state == state &&
      (rules_.merges_next || !is_free)) {
    if (is_free) EraseFree(*after);
    blocks_[address].size += blocks_[*after].size;
    blocks_.erase(*after);
  }
  return address;
}

void SlowAllocator::InsertFree(uint64_t address) {
  SlowBlock& block = blocks_[address];
  block.state = BlockState::kFree;
  block.free_since = Searches(IsSmall(address));
  free_[IsSmall(address)].insert(PlaceOf(address));
}

void SlowAllocator::EraseFree(uint64_t address) {
  free_[IsSmall(address)].erase(PlaceOf(address));
}

void SlowAllocator::ChangeReserved(EventKind kind, uint64_t address,
                                   int64_t by) {
  reserved_ += by;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  if (by < 0) ++segments_freed_;
  if (listener_ != nullptr) {
    listener_->OnSegment(kind, address, std::abs(by), event_);
  }
}

const SlowAllocator::Segment& SlowAllocator::SegmentOf(uint64_t address) const {
  return segments_.at(blocks_.at(address).segment);
}

bool SlowAllocator::IsWhole(uint64_t address) const {
  return blocks_.at(address).size == SegmentOf(address).size;
}

SlowAllocator::Place SlowAllocator::PlaceOf(uint64_t address) const {
  return {streams_[SegmentOf(address).stream], blocks_.at(address).size,
          address};
}

std::optional<uint64_t> SlowAllocator::Before(uint64_t address) const {
  const auto block = blocks_.find(address);
  if (address == block->second.segment) return std::nullopt;
  return std::prev(block)->first;
}

std::optional<uint64_t> SlowAllocator::After(uint64_t address) const {
  const auto block = blocks_.find(address);
  const auto after = std::next(block);
  if (after == blocks_.end() ||
      after->second.segment != block->second.segment) {
    return std::nullopt;
  }
  return after->first;
}

int64_t SlowAllocator::InactiveSplitBytes() const {
  int64_t bytes = 0;
  for (const auto& [address, block] : blocks_) {
    if (block.state == BlockState::kFree && !expandable_ && !IsWhole(address)) {
      bytes += block.size;
    }
  }
  return bytes;
}

std::vector<MappedSegment> SlowAllocator::Map() const {
  std::vector<MappedSegment> map;
  for (const auto& [address, segment] : segments_) {
    map.push_back({.address = address,
                   .size = Bytes(segment.size),
                   .stream = segment.stream,
                   .is_small = segment.is_small,
                   .blocks = {}});
    const uint64_t end = address + static_cast<uint64_t>(segment.size);
    for (auto at = blocks_.find(address);
         at != blocks_.end() && at->first < end; ++at) {
      const bool is_used = !IsRoom(at->second.state);
      map.back().blocks.push_back(
          {.address = at->first,
           .size = Bytes(at->second.size),
           .requested = Bytes(is_used ? at->second.requested : 0),
           .state = at->second.state});
    }
  }
  return map;
}

}  // namespace memplan::testing
