// When memory that was read too slowly is not the card's own. Plain C++17, so
// that a program of nvcc's reads it too.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_SPILLED_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_SPILLED_H_

namespace memplan::gpu {

// Of the device's peak. An H200 reads its own memory at 0.79 of it and the host's
// at 0.01 (docs/measurements.md, memplan-spill-proof); a neighbour that reads as
// well takes half.
inline constexpr double kSpilledBelow = 0.25;

// Whether memory that is read at `speed` is not the card's own, by the `peak` of
// the card, both in bytes a second. False if either is 0, so unknown.
constexpr bool IsSpilled(double speed, double peak) {
  return speed > 0 && peak > 0 && speed < kSpilledBelow * peak;
}

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_SPILLED_H_
