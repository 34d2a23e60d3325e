// The arguments of operators that say whether they train: in a traced module
// constants of its graphs, in a scripted one read from an attribute.
#ifndef MEMPLAN_CUDA_WORKER_MODE_CONSTANTS_H_
#define MEMPLAN_CUDA_WORKER_MODE_CONSTANTS_H_

#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <vector>

namespace memplan::gpu {

struct ModeConstant {
  torch::jit::Node* operation = nullptr;
  size_t input = 0;  // which of its inputs
  bool trains = false;
};

// Those of `block` and of all blocks within it.
std::vector<ModeConstant> ModeConstantsOf(torch::jit::Block& block);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MODE_CONSTANTS_H_
