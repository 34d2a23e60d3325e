// The optimizers of a training step: libtorch's C++ ones.
#ifndef MEMPLAN_CUDA_WORKER_OPTIMIZERS_H_
#define MEMPLAN_CUDA_WORKER_OPTIMIZERS_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "cuda/worker/messages/messages.h"

namespace torch::optim {
class Optimizer;
}

namespace memplan::gpu {

// `parameters` are those to be trained.
std::unique_ptr<torch::optim::Optimizer> MakeOptimizer(
    Optimizer optimizer, std::vector<at::Tensor> parameters);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_OPTIMIZERS_H_
