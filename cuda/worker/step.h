// Steps of a mode: inputs, forward and, when training, loss, backward and
// optimizer, in the order and with the lifetimes of the usual training loop.
#ifndef MEMPLAN_CUDA_WORKER_STEP_H_
#define MEMPLAN_CUDA_WORKER_STEP_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/worker/gradient_scaler.h"
#include "cuda/worker/loss.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/ending.h"
#include "cuda/worker/trial/recorder.h"
#include "cuda/worker/trial/trial_steps.h"

namespace torch::optim {
class Optimizer;
}

namespace memplan::gpu {

// The loaded modules of a trial.
struct Programs {
  torch::jit::Module model;
  std::optional<torch::jit::Module> loss;
};

// Not thread-safe. Keeps gradients, scales and optimizer state between steps.
class Step {
 public:
  // The inputs and targets of `request` have a shape at every batch that it
  // names. `recorder` outlives the step.
  Step(Programs programs, const TrialRequest& request, at::Device device,
       Recorder& recorder);
  ~Step();

  // Runs one step. Returns a failure if there is no loss to train with; throws
  // what torch throws.
  std::optional<Failure> Run(const TrialStep& step);

 private:
  // What a training loop's variables hold.
  struct MicroBatch {
    std::vector<c10::IValue> inputs;
    std::vector<c10::IValue> targets;
    at::Tensor loss;
  };

  std::vector<c10::IValue> Make(const std::vector<InputSpec>& specs,
                                int64_t batch) const;
  void Infer(int64_t batch);
  void Forward(torch::jit::Module& module, int64_t batch);
  void Evaluate(int64_t batch);
  std::optional<Failure> Train(int64_t batch);
  std::optional<Failure> RunMicroBatch(int64_t batch, int number,
                                       MicroBatch& data);
  std::optional<Failure> ComputeLoss(MicroBatch& data);
  void BeginPart(const std::string& name);

  torch::jit::Module module_;
  const TrialRequest request_;
  const at::Device device_;
  Recorder& recorder_;
  Loss loss_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;  // when training
  std::optional<GradientScaler> scaler_;          // when training in float16
  std::optional<torch::jit::Module> evaluating_;  // if it is evaluated
  std::string phase_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_STEP_H_
