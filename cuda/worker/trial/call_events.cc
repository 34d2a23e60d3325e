#include "cuda/worker/trial/call_events.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "cuda/worker/trial/live_bytes.h"

namespace memplan::gpu {
namespace {

bool IsGrowth(TraceEvent event) {
  return event == TraceEvent::kSegmentAlloc || event == TraceEvent::kSegmentMap;
}

bool IsShrinkage(TraceEvent event) {
  return event == TraceEvent::kSegmentFree ||
         event == TraceEvent::kSegmentUnmap;
}

// The index of the allocation that is the largest scratch.
std::optional<size_t> LargestScratch(std::span<const TraceRecord> events) {
  std::map<uint64_t, size_t> live;  // by address
  std::optional<size_t> largest;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].event == TraceEvent::kAlloc) live[events[i].address] = i;
    if (events[i].event != TraceEvent::kFree) continue;
    const auto block = live.find(events[i].address);
    if (block == live.end()) continue;
    const size_t begun = block->second;
    live.erase(block);
    if (!largest || events[begun].bytes > events[*largest].bytes) {
      largest = begun;
    }
  }
  return largest;
}

// Memory from `begin` to before `end`.
struct Room {
  explicit Room(const TraceRecord& event)
      : begin(event.address),
        end(event.address + std::max<uint64_t>(event.bytes, 1)) {}

  bool Overlaps(const Room& other) const {
    return begin < other.end && other.begin < end;
  }

  uint64_t begin;
  uint64_t end;
};

// Whether a block of the call but the one at `scratch` lies in `room` then.
bool HasOtherBlocks(std::span<const TraceRecord> events, size_t scratch,
                    const Room& room) {
  std::map<uint64_t, Room> live;  // by address
  for (const TraceRecord& event : events.first(scratch)) {
    if (event.event == TraceEvent::kAlloc) {
      live.insert_or_assign(event.address, Room(event));
    }
    if (event.event == TraceEvent::kFree) live.erase(event.address);
  }
  return std::any_of(live.begin(), live.end(), [&](const auto& block) {
    return block.second.Overlaps(room);
  });
}

// The index of the allocation for which the device gave the room of the scratch
// at `scratch`: itself, or one of before that is gone. Nothing if the room is
// older than the call, or needed for other blocks too.
std::optional<size_t> TakerOfRoom(std::span<const TraceRecord> events,
                                  size_t scratch) {
  const Room block(events[scratch]);
  size_t growth = scratch;
  while (growth > 0) {
    const TraceRecord& event = events[--growth];
    if (!IsGrowth(event.event) || !Room(event).Overlaps(block)) continue;
    size_t taker = growth + 1;
    while (events[taker].event != TraceEvent::kAlloc) ++taker;
    const bool is_own = taker == scratch;
    if (!is_own && HasOtherBlocks(events, scratch, Room(event))) break;
    return taker;
  }
  return std::nullopt;
}

// Bytes that segments hold from the device and cannot give back, since blocks in
// them are live: before the call, and as it goes on. The allocator gives back the
// others before it refuses anything.
class HeldSegments {
 public:
  explicit HeldSegments(int64_t held) : held_(held) {}

  void Follow(const TraceRecord& event) {
    if (event.event == TraceEvent::kAlloc) blocks_[event.address] = event.bytes;
    if (event.event == TraceEvent::kFree) blocks_.erase(event.address);
    if (IsGrowth(event.event)) grown_[event.address] = event.bytes;
    if (IsShrinkage(event.event) && grown_.erase(event.address) == 0) {
      held_ -= static_cast<int64_t>(event.bytes);
    }
  }
  int64_t held() const {
    int64_t held = held_;
    for (const auto& [address, bytes] : grown_) {
      if (IsInUse(address, bytes)) held += static_cast<int64_t>(bytes);
    }
    return held;
  }

 private:
  bool IsInUse(uint64_t address, uint64_t bytes) const {
    auto block = blocks_.lower_bound(address + bytes);
    if (block == blocks_.begin()) return false;
    --block;  // the last that begins below the segment's end
    return block->first + std::max<uint64_t>(block->second, 1) > address;
  }

  int64_t held_;
  std::map<uint64_t, uint64_t> grown_;   // by address
  std::map<uint64_t, uint64_t> blocks_;  // the live ones, by address
};

// The same without segments, by blocks as the cap counts them.
class HeldBlocks {
 public:
  explicit HeldBlocks(int64_t held) : held_(held) {}

  void Follow(const TraceRecord& event) {
    if (event.event == TraceEvent::kAlloc) held_ += Block(event);
    if (event.event == TraceEvent::kFree) held_ -= Block(event);
  }
  int64_t held() const { return held_; }

 private:
  static int64_t Block(const TraceRecord& event) {
    return RoundedToUnits(Bytes(static_cast<int64_t>(event.bytes))).count();
  }

  int64_t held_;
};

template <typename Holding>
int64_t HeldAfter(Holding holding, std::span<const TraceRecord> events) {
  for (const TraceRecord& event : events) holding.Follow(event);
  return holding.held();
}

}  // namespace

CallPlan PlanOfEvents(std::span<const TraceRecord> events) {
  CallPlan plan;
  std::map<uint64_t, uint32_t> live;  // requests by address
  uint32_t requests = 0;
  for (const TraceRecord& event : events) {
    if (event.event == TraceEvent::kAlloc && event.bytes > 0) {
      live[event.address] = requests;
      plan.push_back(
          {.request = requests++, .bytes = static_cast<int64_t>(event.bytes)});
    } else if (event.event == TraceEvent::kFree) {
      const auto block = live.find(event.address);
      if (block == live.end()) continue;
      plan.push_back({.request = block->second, .bytes = 0});
      live.erase(block);
    }
  }
  return plan;
}

std::optional<Bytes> RefusingCap(Bytes held,
                                 std::span<const TraceRecord> events) {
  const std::optional<size_t> scratch = LargestScratch(events);
  if (!scratch.has_value()) return std::nullopt;
  const bool has_segments = std::any_of(
      events.begin(), events.end(),
      [](const TraceRecord& event) { return IsGrowth(event.event); });
  if (!has_segments) {
    return Bytes(
        HeldAfter(HeldBlocks(held.count()), events.first(*scratch + 1)) - 1);
  }
  const std::optional<size_t> taker = TakerOfRoom(events, *scratch);
  if (!taker.has_value()) return std::nullopt;
  return Bytes(HeldAfter(HeldSegments(held.count()), events.first(*taker + 1)) -
               1);
}

}  // namespace memplan::gpu
