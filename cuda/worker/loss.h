// The loss of a training step, made from whatever a model returns: by the user's
// own program, or from an output.
#ifndef MEMPLAN_CUDA_WORKER_LOSS_H_
#define MEMPLAN_CUDA_WORKER_LOSS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "cuda/worker/trial/ending.h"

namespace memplan::gpu {

// Not thread-safe.
class Loss {
 public:
  // `program`, if there is one, is a module whose forward takes the model's
  // outputs, then the targets, and returns the loss. `output` is the number of
  // the output that is the loss or that it is made from; unset: the first output
  // of no dimensions, else the first. Only one of the two is given.
  Loss(std::optional<torch::jit::Module> program, std::optional<int> output)
      : program_(std::move(program)), output_(output) {}

  // The loss of `output`, or why there is none. Outputs are looked for in
  // tuples, lists and dictionaries too; without a number only floating ones that
  // depend on a parameter count. One that has dimensions becomes its mean
  // square. The caller lets go of `output` before backward, so that only
  // autograd holds it. Throws what torch throws.
  std::variant<at::Tensor, Failure> Of(const c10::IValue& output,
                                       const std::vector<c10::IValue>& targets);

 private:
  std::variant<at::Tensor, Failure> OfProgram(
      const c10::IValue& output, const std::vector<c10::IValue>& targets);
  std::variant<at::Tensor, Failure> OfNumber(const c10::IValue& output) const;

  std::optional<torch::jit::Module> program_;
  const std::optional<int> output_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_LOSS_H_
