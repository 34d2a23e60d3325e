// Scales the loss so that gradients in float16 do not vanish, and scales them
// back: the same operators, in the same order, as torch.amp.GradScaler with its
// defaults, for gradients on one device.
#ifndef MEMPLAN_CUDA_WORKER_GRADIENT_SCALER_H_
#define MEMPLAN_CUDA_WORKER_GRADIENT_SCALER_H_

#include <ATen/core/Tensor.h>

namespace torch::optim {
class Optimizer;
}

namespace memplan::gpu {

// Not thread-safe. Throws what torch throws.
class GradientScaler {
 public:
  // The loss to go backward from.
  at::Tensor Scale(const at::Tensor& loss);

  // Scales the optimizer's gradients back, steps it and chooses the next scale.
  // GradScaler skips a step whose gradients are not finite. Synthetic data say
  // nothing of that, and a skipped step would hide what the optimizer needs: here
  // such gradients become zero, in place, and the step is made.
  void Step(torch::optim::Optimizer& optimizer);

 private:
  at::Tensor scale_;           // made by the first Scale
  at::Tensor growth_tracker_;  // steps since the scale last changed
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_GRADIENT_SCALER_H_
