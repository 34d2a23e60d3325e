// Does memory that a driver handed out lie on the card? A driver that would
// rather spill into the host's memory than fail (as under WSL and on Windows)
// lets a batch run that does not fit, at a fraction of the speed. Reading shows
// it: the card's own memory is an order of magnitude faster than the bus. What
// speed is too low: worker/messages/spilled.h.
//
// Without torch, Abseil and the allocator, so that nvcc can read it and nothing
// here takes device memory.
#ifndef MEMPLAN_CUDA_SPILL_CHECK_H_
#define MEMPLAN_CUDA_SPILL_CHECK_H_

#include <cstddef>

namespace memplan::gpu {

// A stretch of device memory, 16-byte aligned.
struct MemoryRange {
  const void* address = nullptr;
  size_t bytes = 0;
};

// Shorter ones are not judged: starting the kernel takes as long as reading them.
inline constexpr size_t kSmallestJudgedRange = size_t{16} << 20;

// Reads up to 256 MiB of each of `count` ranges three times, on a stream of its
// own, and writes the best speed in bytes a second to `speeds`; 0 for a range that
// is not judged. Returns nullptr, or what CUDA said. Blocks.
const char* MeasureReadSpeeds(const MemoryRange* ranges, size_t count,
                              double* speeds);

// The speed of the current device's memory by its clock and width, in bytes a
// second; 0 if the driver does not say.
double PeakMemorySpeed();

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_SPILL_CHECK_H_
