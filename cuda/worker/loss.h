// The loss of a training step, made from whatever a model returns.
#ifndef MEMPLAN_CUDA_WORKER_LOSS_H_
#define MEMPLAN_CUDA_WORKER_LOSS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace memplan::gpu {

// The model's own loss, the first output of no dimensions, if it has one; else
// the mean square of its first output. Only floating outputs that depend on a
// parameter count, looked for in tuples, lists and dictionaries too. Undefined
// if there is none. The caller lets go of `output` before backward, so that only
// autograd holds it.
at::Tensor LossOf(const c10::IValue& output);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_LOSS_H_
