// Shuts the calling thread, and the threads it starts, into the files that a
// list allows: Linux's Landlock.
#ifndef MEMPLAN_CUDA_WORKER_SANDBOX_LANDLOCK_H_
#define MEMPLAN_CUDA_WORKER_SANDBOX_LANDLOCK_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/sandbox/file_rules.h"

namespace memplan::gpu {

// What the kernel offers. kUnavailable, saying why, if it has no Landlock or it
// is turned off.
absl::StatusOr<int> LandlockAbi();

// From now on nothing can be reached but what `rules` allow; no TCP port can be
// bound or connected to (ABI 4), and no abstract socket or process outside
// (ABI 6). What is open already stays so. A rule for what does not exist is
// passed over. Needs no_new_privileges. kInternal if the kernel refuses; then
// nothing has changed.
absl::Status RestrictFiles(const std::vector<FileRule>& rules, int abi);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_SANDBOX_LANDLOCK_H_
