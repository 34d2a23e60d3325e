// What batch a model was traced at, told from its example inputs' sizes.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_TRACED_BATCH_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_TRACED_BATCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/plan/input_spec.h"

namespace memplan::gpu {

// `shapes` are the example inputs, `inputs` the specs of the same. The first
// dimension that is the batch decides. Unset if there is none, or its sizes do
// not go together.
std::optional<int64_t> TracedBatch(
    std::span<const InputSpec> inputs,
    std::span<const std::vector<int64_t>> shapes);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_TRACED_BATCH_H_
