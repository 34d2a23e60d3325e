// The allocator's settings, read from the text of PYTORCH_CUDA_ALLOC_CONF with
// the meaning that libtorch 2.11 gives it, down to what it passes over: what
// stands where a colon or a comma belongs is not looked at, white space counts
// nowhere, and a number ends where its digits end.
//
//   max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]
#ifndef MEMPLAN_PLANNER_ALLOCATOR_SETTINGS_H_
#define MEMPLAN_PLANNER_ALLOCATOR_SETTINGS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/base/bytes.h"

namespace memplan {

// Stands for no bound. More than any request.
inline constexpr Bytes kUnbounded = GiB(int64_t{1} << 32);

// What decides how the allocator cuts and keeps memory. A plain value.
struct AllocatorSettings {
  // What is asked of the driver for a block above 1 MiB and below 10 MiB.
  Bytes large_segment_size = MiB(20);
  // Blocks of this size or more are neither split nor used for smaller requests.
  Bytes max_split_size = kUnbounded;
  // By how much such a block may exceed what is asked for.
  Bytes max_non_split_rounding = MiB(20);
  // The share of the cap above which old segments are released; 0: never.
  double garbage_collection_threshold = 0;
  // Into how many parts the way from one power of two to the next is divided, by
  // the size's power of two: 1 MiB and below, 2 MiB, …, 32 GiB and above. Up to
  // 1 part is no rounding to powers of two.
  std::array<uint64_t, 16> power2_divisions = {};
  bool expandable_segments = false;
  // The share of the device that the allocator may take; 1: all.
  double memory_fraction = 1;

  friend bool operator==(const AllocatorSettings&,
                         const AllocatorSettings&) = default;
};

// Reads `text`; empty is the default. Keys that concern pinned memory, locks or
// graph capture are checked and have no effect here. Returns kInvalidArgument
// for what libtorch refuses, with the key and what it takes, and for
// backend:cudaMallocAsync, which is another allocator.
absl::StatusOr<AllocatorSettings> ParseAllocatorSettings(std::string_view text);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_SETTINGS_H_
