// One step of a mode, again and again: inputs, forward and, when training, loss,
// backward and optimizer, in the order and with the lifetimes of the usual
// training loop.
#ifndef MEMPLAN_CUDA_WORKER_STEP_H_
#define MEMPLAN_CUDA_WORKER_STEP_H_

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/ending.h"
#include "cuda/worker/trial/recorder.h"

namespace torch::optim {
class Optimizer;
}

namespace memplan::gpu {

// Not thread-safe. Keeps gradients and optimizer state between steps.
class Step {
 public:
  // `shapes` are the inputs' sizes at the batch. `recorder` outlives the step.
  Step(torch::jit::Module module, const TrialRequest& request,
       std::vector<std::vector<int64_t>> shapes, at::Device device,
       Recorder& recorder);
  ~Step();

  // Runs step `index`. Returns a failure if the model's output cannot be
  // trained; throws what torch throws.
  std::optional<Failure> Run(int index);

 private:
  std::vector<c10::IValue> MakeInputs() const;
  void Infer();
  void Forward();
  std::optional<Failure> Train();
  void BeginPart(const char* name);

  torch::jit::Module module_;
  const Mode mode_;
  const std::vector<InputSpec> inputs_;
  const std::vector<std::vector<int64_t>> shapes_;
  const at::Device device_;
  Recorder& recorder_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;  // when training
  int index_ = 0;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_STEP_H_
