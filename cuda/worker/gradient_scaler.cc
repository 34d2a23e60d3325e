#include "cuda/worker/gradient_scaler.h"

#include <ATen/ATen.h>
#include <torch/optim.h>

#include <cstdint>
#include <map>
#include <vector>

namespace memplan::gpu {
namespace {

// GradScaler's defaults (torch/amp/grad_scaler.py).
constexpr double kFirstScale = 65536;
constexpr double kGrowthFactor = 2;
constexpr double kBackoffFactor = 0.5;
constexpr int64_t kGrowthInterval = 2000;

std::vector<at::Tensor> GradientsOf(const torch::optim::Optimizer& optimizer) {
  std::vector<at::Tensor> gradients;
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    }
  }
  return gradients;
}

// The operators take gradients of one type at a time.
std::map<at::ScalarType, std::vector<at::Tensor>> ByType(
    const std::vector<at::Tensor>& gradients) {
  std::map<at::ScalarType, std::vector<at::Tensor>> groups;
  for (const at::Tensor& gradient : gradients) {
    groups[gradient.scalar_type()].push_back(gradient);
  }
  return groups;
}

at::Tensor CopyOf(const at::Tensor& tensor) {
  return tensor.to(tensor.device(), tensor.scalar_type(),
                   /*non_blocking=*/true, /*copy=*/true);
}

}  // namespace

at::Tensor GradientScaler::Scale(const at::Tensor& loss) {
  if (!scale_.defined()) {
    const auto options = at::dtype(at::kFloat).device(loss.device());
    scale_ = at::full({}, kFirstScale, options);
    growth_tracker_ = at::full({}, 0, options.dtype(at::kInt));
  }
  return loss * scale_;
}

void GradientScaler::Step(torch::optim::Optimizer& optimizer) {
  const at::NoGradGuard without_gradients;
  const std::vector<at::Tensor> gradients = GradientsOf(optimizer);
  at::Tensor copied_overflow;
  {
    const at::Tensor inverse =
        scale_.to(at::kDouble).reciprocal().to(at::kFloat);
    const at::Tensor overflow = at::full({}, 0.0, scale_.options());
    // GradScaler keeps a copy for each device, its own included.
    copied_overflow = CopyOf(overflow);
    const at::Tensor copied_inverse = CopyOf(inverse);
    for (const auto& [type, group] : ByType(gradients)) {
      at::_amp_foreach_non_finite_check_and_unscale_(group, copied_overflow,
                                                     copied_inverse);
    }
  }
  if (copied_overflow.item<float>() != 0) at::_foreach_zero_(gradients);
  optimizer.step();
  at::_amp_update_scale_(scale_, growth_tracker_, copied_overflow,
                         kGrowthFactor, kBackoffFactor, kGrowthInterval);
}

}  // namespace memplan::gpu
