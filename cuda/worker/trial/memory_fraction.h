// The allocator takes its cap as a fraction of the device's memory and turns it
// back into bytes by rounding down (CUDACachingAllocator::setMemoryFraction).
// This finds the fraction that gives exactly the bytes wanted.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_MEMORY_FRACTION_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_MEMORY_FRACTION_H_

#include "planner/base/bytes.h"

namespace memplan::gpu {

// The bytes that `fraction` of `total` stands for.
Bytes CapOfFraction(double fraction, Bytes total);

// A fraction f with CapOfFraction(f, total) == cap. Needs 0 ≤ cap < total, and
// total < 2^52, so that one exists.
double FractionForCap(Bytes cap, Bytes total);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_MEMORY_FRACTION_H_
