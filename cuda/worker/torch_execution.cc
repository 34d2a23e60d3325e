#include "cuda/worker/torch_execution.h"

#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cuda/worker/program.h"
#include "cuda/worker/program_checks.h"
#include "cuda/worker/step.h"
#include "cuda/worker/torch_failure.h"
#include "planner/base/status_macros.h"

namespace memplan::gpu {
namespace {

// The sizes of all inputs at the request's batch.
absl::StatusOr<std::vector<std::vector<int64_t>>> InputShapes(
    const TrialRequest& request) {
  std::vector<std::vector<int64_t>> shapes;
  for (const InputSpec& input : request.inputs) {
    MEMPLAN_ASSIGN_OR_RETURN(
        std::vector<int64_t> shape,
        InputShape(input, request.batch, request.dimensions));
    shapes.push_back(std::move(shape));
  }
  return shapes;
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
    // Before the module is read, since that takes a while.
    if (auto shapes = InputShapes(request_); !shapes.ok()) {
      return BadRequest("inputs", std::string(shapes.status().message()));
    }
    if (auto failure = RefuseUnlessZip(request_.model_path)) return failure;
    auto failure =
        GuardedFailure(device_, sandboxed(), [this] { return LoadModule(); });
    if (!failure.has_value() || failure->end == EndKind::kOutOfMemory ||
        failure->end == EndKind::kSandboxRefused ||
        failure->end == EndKind::kBadRequest) {
      return failure;
    }
    return BadRequest(
        "model_sha256",
        absl::StrCat("the file does not load as a TorchScript "
                     "module; save the model with torch.jit.save: ",
                     failure->message));
  }

  std::optional<Failure> Begin(const TrialRequest& request) override {
    auto shapes = InputShapes(request);
    if (!shapes.ok()) {
      return BadRequest("inputs", std::string(shapes.status().message()));
    }
    return GuardedFailure(device_, sandboxed(),
                          [&]() -> std::optional<Failure> {
                            step_.emplace(*module_, request, *std::move(shapes),
                                          torch_device_, recorder_);
                            return std::nullopt;
                          });
  }

  std::optional<Failure> RunStep(int index) override {
    return GuardedFailure(device_, sandboxed(), [&] {
      auto failure = step_->Run(index);
      // Errors of kernels show when the device is waited for.
      Synchronize(torch_device_);
      return failure;
    });
  }

 private:
  bool sandboxed() const { return request_.sandbox.has_value(); }

  std::optional<Failure> LoadModule() {
    const bool as_torchscript = request_.run_as == RunAs::kTorchScript;
    torch::jit::setTensorExprFuserEnabled(as_torchscript);
    torch::jit::setGraphExecutorOptimize(as_torchscript);
    module_ = LoadProgram(request_.model_path, torch_device_);
    if (auto failure = CheckProgram(*module_, request_)) return failure;
    Synchronize(torch_device_);
    return std::nullopt;
  }

  const TrialRequest request_;
  Device& device_;
  Recorder& recorder_;
  const at::Device torch_device_;
  std::optional<torch::jit::Module> module_;  // once loaded
  std::optional<Step> step_;
};

}  // namespace

std::unique_ptr<Execution> MakeTorchExecution(const TrialRequest& request,
                                              Device& device,
                                              Recorder& recorder) {
  return std::make_unique<TorchExecution>(request, device, recorder);
}

}  // namespace memplan::gpu
