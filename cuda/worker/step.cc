#include "cuda/worker/step.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/optim.h>

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "cuda/worker/autocast_scope.h"
#include "cuda/worker/evaluation.h"
#include "cuda/worker/inputs.h"
#include "cuda/worker/optimizers.h"

namespace memplan::gpu {
namespace {

void AddTrainableParameters(const torch::jit::Module& module,
                            std::vector<at::Tensor>& parameters) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.requires_grad()) parameters.push_back(parameter);
  }
}

}  // namespace

Step::Step(Programs programs, const TrialRequest& request, at::Device device,
           Recorder& recorder)
    : module_(std::move(programs.model)),
      request_(request),
      device_(device),
      recorder_(recorder),
      loss_(programs.loss, request.options.loss_output) {
  const bool trains = request_.mode == Mode::kTrain;
  // Before train(), which would undo its eval().
  if (request_.options.evaluation_batch > 0) evaluating_ = InEvalMode(module_);
  module_.train(trains);
  if (!trains) return;
  std::vector<at::Tensor> parameters;
  AddTrainableParameters(module_, parameters);
  if (programs.loss) {
    programs.loss->train();
    AddTrainableParameters(*programs.loss, parameters);
  }
  optimizer_ = MakeOptimizer(request_.optimizer, std::move(parameters));
  if (request_.options.autocast == Autocast::kFloat16) scaler_.emplace();
}

Step::~Step() = default;

std::optional<Failure> Step::Run(const TrialStep& step) {
  phase_ = step.phase;
  if (step.kind == StepKind::kEvaluation) {
    Evaluate(step.batch);
    return std::nullopt;
  }
  switch (request_.mode) {
    case Mode::kInfer:
      Infer(step.batch);
      return std::nullopt;
    case Mode::kInferGrad:
      Forward(module_, step.batch);
      return std::nullopt;
    case Mode::kTrain:
      return Train(step.batch);
  }
  return std::nullopt;
}

void Step::Infer(int64_t batch) {
  const c10::InferenceMode inference;
  Forward(module_, batch);
}

void Step::Evaluate(int64_t batch) {
  const at::NoGradGuard without_gradients;
  Forward(*evaluating_, batch);
}

void Step::Forward(torch::jit::Module& module, int64_t batch) {
  const std::vector<c10::IValue> inputs = Make(request_.inputs, batch);
  BeginPart("/forward");
  const AutocastScope autocast(request_.options.autocast, device_.type());
  const c10::IValue output = module.forward(inputs);
}

std::optional<Failure> Step::Train(int64_t batch) {
  // The last one's data and loss are held while the optimizer runs.
  MicroBatch micro_batch;
  for (int i = 0; i < request_.options.accumulation_steps; ++i) {
    micro_batch = MicroBatch();
    if (auto failure = RunMicroBatch(batch, i, micro_batch)) return failure;
  }
  BeginPart("/optimizer");
  if (scaler_) {
    scaler_->Step(*optimizer_);
  } else {
    optimizer_->step();
  }
  return std::nullopt;
}

// Forward and backward of micro-batch `number`, from 0. The first makes the
// gradients, or finds them zero; the following add to them.
std::optional<Failure> Step::RunMicroBatch(int64_t batch, int number,
                                           MicroBatch& data) {
  const StepOptions& options = request_.options;
  // What the following ones do alike has a name of its own in the trace.
  const std::string part = number == 0 ? "" : absl::StrCat("/micro", number);
  if (number > 0) BeginPart(part);
  data.inputs = Make(request_.inputs, batch);
  data.targets = Make(options.targets, batch);
  if (number == 0) {
    optimizer_->zero_grad(/*set_to_none=*/options.zero_grad == ZeroGrad::kNone);
  }
  BeginPart(absl::StrCat(part, "/forward"));
  if (auto failure = ComputeLoss(data)) return failure;
  BeginPart(absl::StrCat(part, "/backward"));
  if (scaler_) {
    scaler_->Scale(data.loss).backward();
  } else {
    data.loss.backward();
  }
  return std::nullopt;
}

std::optional<Failure> Step::ComputeLoss(MicroBatch& data) {
  const StepOptions& options = request_.options;
  const AutocastScope autocast(options.autocast, device_.type());
  auto result = loss_.Of(module_.forward(data.inputs), data.targets);
  if (auto* failure = std::get_if<Failure>(&result)) {
    return std::move(*failure);
  }
  data.loss = std::get<at::Tensor>(std::move(result));
  if (options.accumulation_steps > 1) {
    data.loss = data.loss / options.accumulation_steps;
  }
  return std::nullopt;
}

std::vector<c10::IValue> Step::Make(const std::vector<InputSpec>& specs,
                                    int64_t batch) const {
  return MakeInputs(specs, batch, request_.dimensions, device_);
}

void Step::BeginPart(const std::string& name) {
  recorder_.BeginPhase(absl::StrCat(phase_, name));
}

}  // namespace memplan::gpu
