#include "cuda/worker/optimizers.h"

#include <torch/optim.h>

#include <utility>

namespace memplan::gpu {
namespace {

namespace optim = torch::optim;

// Small, so that weights stay finite over a few steps on random inputs; sizes
// do not depend on it.
constexpr double kLearningRate = 1e-3;
constexpr double kMomentum = 0.9;

}  // namespace

std::unique_ptr<optim::Optimizer> MakeOptimizer(
    Optimizer optimizer, std::vector<at::Tensor> parameters) {
  switch (optimizer) {
    case Optimizer::kNone:
    case Optimizer::kSgd:
      return std::make_unique<optim::SGD>(std::move(parameters),
                                          optim::SGDOptions(kLearningRate));
    case Optimizer::kSgdMomentum:
      return std::make_unique<optim::SGD>(
          std::move(parameters),
          optim::SGDOptions(kLearningRate).momentum(kMomentum));
    case Optimizer::kAdam:
      return std::make_unique<optim::Adam>(std::move(parameters),
                                           optim::AdamOptions(kLearningRate));
    case Optimizer::kAdamW:
      return std::make_unique<optim::AdamW>(std::move(parameters),
                                            optim::AdamWOptions(kLearningRate));
  }
  return nullptr;
}

}  // namespace memplan::gpu
