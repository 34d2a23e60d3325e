// Reads the memory that a trial holds and says how fast the slowest part of it
// is, so that memory which a driver spilled into the host's shows
// (cuda/spill_check.h). Chooses what is read; the reading itself is the caller's.
//
//   segments   ├──────────── 700 MiB ────────────┤  ├ 20 ┤  ├──── 300 ────┤
//   stretches  ├── 256 ──┼── 256 ──┼─── 188 ─────┤          ├── 256 ──┤
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_MEMORY_SPEED_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_MEMORY_SPEED_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cuda/worker/messages/messages.h"
#include "planner/base/bytes.h"

namespace memplan::gpu {

struct Stretch {
  uint64_t address = 0;
  Bytes bytes;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// What one reading reads at most. Shorter than the smallest, starting a kernel is
// too much of the time to tell.
inline constexpr Bytes kLargestStretch = MiB(256);
inline constexpr Bytes kSmallestStretch = MiB(64);
// Three readings of each take 12 ms together on an H200, and on one that spilled
// everything 3 s.
inline constexpr size_t kMostStretches = 64;

// `segments` cut into stretches, the short ones left out; of more than
// kMostStretches so many, evenly spread, the first and the last among them.
std::vector<Stretch> StretchesToRead(const std::vector<Stretch>& segments);

// The speed of each stretch in bytes a second, 0 of one that is not judged; or
// why it cannot be measured.
using MeasureSpeeds = absl::FunctionRef<absl::StatusOr<std::vector<double>>(
    const std::vector<Stretch>&)>;

// The slowest stretch of `segments` on a device with this `peak` (0: not known).
// One that looks spilled is measured twice, since a neighbour may have had the
// device meanwhile, and the better time counts.
MemorySpeed SlowestRead(const std::vector<Stretch>& segments, double peak,
                        MeasureSpeeds measure);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_MEMORY_SPEED_H_
