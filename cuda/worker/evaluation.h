// A module as it is after `module.eval()`, tracing notwithstanding.
#ifndef MEMPLAN_CUDA_WORKER_EVALUATION_H_
#define MEMPLAN_CUDA_WORKER_EVALUATION_H_

#include <torch/csrc/jit/api/module.h>

namespace memplan::gpu {

// A traced module has its mode as constants of its graphs, which eval() leaves
// as they are; this is a copy of `module`'s programs with those constants false.
// It shares all tensors with `module` and takes no memory of the device.
torch::jit::Module InEvalMode(const torch::jit::Module& module);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_EVALUATION_H_
