// Bounds of a worker beside memory: rlimits.
#ifndef MEMPLAN_CUDA_WORKER_SANDBOX_RESOURCE_LIMITS_H_
#define MEMPLAN_CUDA_WORKER_SANDBOX_RESOURCE_LIMITS_H_

#include <string>

#include "absl/status/statusor.h"

namespace memplan::gpu {

// Lowers the limits of this process and returns them in words. Those that are
// lower already stay. kInternal if the kernel refuses.
//
// Not limited: address space (CUDA reserves far more than a host has), processor
// time (a trial has a deadline), processes (the kernel counts all of the user's,
// and the filter lets none be started), memory (the daemon's worker_memory).
absl::StatusOr<std::string> LimitResources();

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_SANDBOX_RESOURCE_LIMITS_H_
