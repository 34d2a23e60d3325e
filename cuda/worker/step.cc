#include "cuda/worker/step.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/optim.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/worker/inputs.h"
#include "cuda/worker/loss.h"

namespace memplan::gpu {
namespace {

namespace optim = torch::optim;

// Small, so that weights stay finite over a few steps on random inputs; sizes
// do not depend on it.
constexpr double kLearningRate = 1e-3;
constexpr double kMomentum = 0.9;

std::vector<at::Tensor> TrainableParameters(const torch::jit::Module& module) {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.requires_grad()) parameters.push_back(parameter);
  }
  return parameters;
}

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

}  // namespace

Step::Step(torch::jit::Module module, const TrialRequest& request,
           std::vector<std::vector<int64_t>> shapes, at::Device device,
           Recorder& recorder)
    : module_(std::move(module)),
      mode_(request.mode),
      inputs_(request.inputs),
      shapes_(std::move(shapes)),
      device_(device),
      recorder_(recorder) {
  module_.train(mode_ == Mode::kTrain);
  if (mode_ == Mode::kTrain) {
    optimizer_ = MakeOptimizer(request.optimizer, TrainableParameters(module_));
  }
}

Step::~Step() = default;

std::optional<Failure> Step::Run(int index) {
  index_ = index;
  switch (mode_) {
    case Mode::kInfer:
      Infer();
      return std::nullopt;
    case Mode::kInferGrad:
      Forward();
      return std::nullopt;
    case Mode::kTrain:
      return Train();
  }
  return std::nullopt;
}

void Step::Infer() {
  const c10::InferenceMode inference;
  Forward();
}

void Step::Forward() {
  const std::vector<c10::IValue> inputs = MakeInputs();
  BeginPart("forward");
  const c10::IValue output = module_.forward(inputs);
}

std::optional<Failure> Step::Train() {
  const std::vector<c10::IValue> inputs = MakeInputs();
  optimizer_->zero_grad();
  BeginPart("forward");
  const at::Tensor loss = LossOf(module_.forward(inputs));
  if (!loss.defined()) {
    return BadRequest(
        "mode",
        "the model cannot be trained: none of its outputs is a floating tensor "
        "that depends on a parameter; return the loss, or the output it is to "
        "be computed from");
  }
  BeginPart("backward");
  loss.backward();
  BeginPart("optimizer");
  optimizer_->step();
  return std::nullopt;
}

std::vector<c10::IValue> Step::MakeInputs() const {
  std::vector<c10::IValue> inputs;
  inputs.reserve(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs.emplace_back(MakeInput(inputs_[i], shapes_[i], device_));
  }
  return inputs;
}

void Step::BeginPart(const char* name) {
  recorder_.BeginPhase(absl::StrCat("step", index_, "/", name));
}

}  // namespace memplan::gpu
