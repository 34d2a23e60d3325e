// Two steps from what a program asks for to what the driver is asked for:
//
//   requested ──► block: whole units of 512 bytes, or, with power-of-two
//                 divisions, a part of the way to the next power of two
//             ──► segment: 2 MiB, the large segment size, or whole 2 MiB
#ifndef MEMPLAN_PLANNER_ALLOCATOR_ROUNDING_H_
#define MEMPLAN_PLANNER_ALLOCATOR_ROUNDING_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "planner/allocator/settings.h"

namespace memplan {

// All in bytes; torch 2.11, c10/core/AllocatorConfig.h.
inline constexpr int64_t kMinBlock = 512;               // unit of block sizes
inline constexpr int64_t kSmallLimit = 1 << 20;         // up to it: small pool
inline constexpr int64_t kSmallSegment = 2 << 20;       // segments of that pool
inline constexpr int64_t kLargeDirectLimit = 10 << 20;  // own segment from here
inline constexpr int64_t kLargeGranule = 2 << 20;       // whose size is whole

// Requests above it are refused outright.
inline constexpr int64_t kMaxRequest = int64_t{1} << 60;

constexpr int64_t RoundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// A value.
class Rounding {
 public:
  explicit Rounding(const AllocatorSettings& settings)
      : large_segment_(settings.large_segment_size.count()),
        divisions_(settings.power2_divisions) {
    for (const uint64_t divisions : divisions_) {
      has_divisions_ = has_divisions_ || divisions > 1;
    }
  }

  // The size of the block that serves a request of `requested` bytes, which is
  // in 1 … kMaxRequest.
  int64_t BlockSize(int64_t requested) const {
    if (has_divisions_ && requested >= kMinBlock) return Divided(requested);
    return RoundUp(requested, kMinBlock);
  }

  // The size of the segment that is asked for if no free block serves.
  int64_t SegmentSize(int64_t block) const {
    if (block <= kSmallLimit) return kSmallSegment;
    if (block < kLargeDirectLimit) return large_segment_;
    return RoundUp(block, kLargeGranule);
  }

 private:
  int64_t Divided(int64_t requested) const;

  int64_t large_segment_;
  std::array<uint64_t, 16> divisions_;
  bool has_divisions_ = false;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_ROUNDING_H_
