#include "cuda/worker/torch_execution.h"

#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/worker/held_arguments.h"
#include "cuda/worker/program.h"
#include "cuda/worker/program_checks.h"
#include "cuda/worker/step.h"
#include "cuda/worker/torch_failure.h"
#include "cuda/worker/trial/trial_steps.h"
#include "cuda/worker/whole_slices.h"

namespace memplan::gpu {
namespace {

// Why some input or target has no shape at some batch of the trial.
std::optional<Failure> CheckShapes(const TrialRequest& request) {
  for (const TrialStep& step : StepsOf(request)) {
    for (const auto& [specs, field] :
         {std::pair{&request.inputs, "inputs"},
          std::pair{&request.options.targets, "step.targets"}}) {
      for (const InputSpec& spec : *specs) {
        const auto shape = InputShape(spec, step.batch, request.dimensions);
        if (!shape.ok()) {
          return BadRequest(field, std::string(shape.status().message()));
        }
      }
    }
  }
  return std::nullopt;
}

class TorchExecution : public Execution {
 public:
  TorchExecution(const TrialRequest& request, Device& device,
                 Recorder& recorder)
      : request_(request),
        device_(device),
        recorder_(recorder),
        torch_device_(TorchDevice(request.device)) {}

  std::optional<Failure> Load() override {
    // Before a file is read, since that takes a while.
    if (auto failure = CheckShapes(request_)) return failure;
    ConfigureTorch();
    auto failure = LoadInto(model_, request_.model_path, "model_sha256");
    if (failure.has_value() || request_.loss_path.empty()) return failure;
    return LoadInto(loss_, request_.loss_path, "step.loss_model_sha256");
  }

  std::optional<Failure> Begin(const TrialRequest& request) override {
    if (auto failure = CheckShapes(request)) return failure;
    return GuardedFailure(device_, sandboxed(),
                          [&]() -> std::optional<Failure> {
                            step_.emplace(Programs{*model_, loss_}, request,
                                          torch_device_, recorder_);
                            return std::nullopt;
                          });
  }

  std::optional<Failure> RunStep(const TrialStep& step) override {
    return GuardedFailure(device_, sandboxed(), [&] {
      auto failure = step_->Run(step);
      // Errors of kernels show when the device is waited for.
      Synchronize(torch_device_);
      return failure;
    });
  }

 private:
  bool sandboxed() const { return request_.sandbox.has_value(); }

  void ConfigureTorch() const {
    const bool as_torchscript = request_.run_as == RunAs::kTorchScript;
    torch::jit::setTensorExprFuserEnabled(as_torchscript);
    torch::jit::setGraphExecutorOptimize(as_torchscript);
    at::globalContext().setBenchmarkCuDNN(request_.options.cudnn_benchmark);
    at::globalContext().setDeterministicCuDNN(
        request_.options.cudnn_deterministic);
  }

  // `field` of ProbeSpec names the file.
  std::optional<Failure> LoadInto(std::optional<torch::jit::Module>& module,
                                  const std::string& path, const char* field) {
    if (auto failure = RefuseUnlessZip(path, field)) return failure;
    auto failure = GuardedFailure(device_, sandboxed(), [&] {
      const bool as_python = request_.run_as == RunAs::kEager;
      module =
          LoadProgram(path, torch_device_,
                      as_python ? LoadOrder::kPython : LoadOrder::kArchive);
      if (as_python) {
        LeaveOutWholeSlices(*module);
        HoldArgumentsAsPython(*module);
      }
      Synchronize(torch_device_);
      return &module == &model_
                 ? CheckProgram(*module, request_)
                 : CheckLossProgram(*module, request_.options.targets.size());
    });
    if (!failure.has_value() || failure->end == EndKind::kOutOfMemory ||
        failure->end == EndKind::kSandboxRefused ||
        failure->end == EndKind::kBadRequest) {
      return failure;
    }
    return BadRequest(
        field, absl::StrCat("the file does not load as a TorchScript "
                            "module; save the model with torch.jit.save: ",
                            failure->message));
  }

  const TrialRequest request_;
  Device& device_;
  Recorder& recorder_;
  const at::Device torch_device_;
  std::optional<torch::jit::Module> model_;  // once loaded
  std::optional<torch::jit::Module> loss_;   // the same, if there is one
  std::optional<Step> step_;
};

}  // namespace

std::unique_ptr<Execution> MakeTorchExecution(const TrialRequest& request,
                                              Device& device,
                                              Recorder& recorder) {
  return std::make_unique<TorchExecution>(request, device, recorder);
}

}  // namespace memplan::gpu
