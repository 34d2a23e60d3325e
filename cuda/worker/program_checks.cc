#include "cuda/worker/program_checks.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cuda/worker/method_arguments.h"
#include "cuda/worker/mode_constants.h"

namespace memplan::gpu {
namespace {

std::optional<Failure> CheckInputs(const torch::jit::Module& module,
                                   const TrialRequest& request) {
  const auto forward = ForwardArguments(module);
  if (!forward.has_value()) {
    return BadRequest("model_sha256",
                      "the model has no method `forward`; only that is run");
  }
  const std::vector<c10::Argument>& arguments = forward->all;
  const size_t given = request.inputs.size();
  if (given < forward->needed || given > arguments.size()) {
    return BadRequest(
        "inputs",
        absl::StrCat("the model's forward takes ", arguments.size(),
                     " inputs (", ArgumentList(*forward), "), ", given,
                     " given; write one spec for each, in this order"));
  }
  for (size_t i = 0; i < given; ++i) {
    if (TakesTensor(arguments[i])) continue;
    return BadRequest(
        "inputs",
        absl::StrCat("input ", i + 1, " (", arguments[i].name(),
                     ") of the model's forward is ",
                     arguments[i].type()->repr_str(),
                     ", no tensor; wrap the model in one whose inputs are"));
  }
  return std::nullopt;
}

// What the graphs say of their mode. A traced module has it as constants; a
// scripted one asks an attribute.
struct BakedModes {
  bool training = false;   // some operator trains
  std::string evaluating;  // one that does not; empty if there is none
};

BakedModes ModesOf(const torch::jit::Module& module) {
  BakedModes modes;
  const auto unit = module._ivalue()->compilation_unit();
  for (torch::jit::Function* function : unit->get_functions()) {
    if (auto* graph = torch::jit::tryToGraphFunction(*function)) {
      for (const ModeConstant& constant :
           ModeConstantsOf(*graph->graph()->block())) {
        if (constant.trains) {
          modes.training = true;
        } else {
          modes.evaluating = constant.operation->kind().toQualString();
        }
      }
    }
  }
  return modes;
}

bool HasTrainableParameter(const torch::jit::Module& module) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.requires_grad()) return true;
  }
  return false;
}

std::optional<Failure> CheckTrainable(const torch::jit::Module& module) {
  if (!HasTrainableParameter(module)) {
    return BadRequest(
        "mode",
        "the model has no parameter that requires a gradient, so that it "
        "cannot "
        "be trained; save it before torch.jit.freeze, with its parameters' "
        "requires_grad set");
  }
  const BakedModes modes = ModesOf(module);
  if (!modes.evaluating.empty() && !modes.training) {
    return BadRequest(
        "mode",
        absl::StrCat("the model was traced in eval mode: `", modes.evaluating,
                     "` has training=False as a constant; trace it again "
                     "as torch.jit.trace(model.train(), example)"));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Failure> CheckProgram(const torch::jit::Module& module,
                                    const TrialRequest& request) {
  if (auto failure = CheckInputs(module, request)) return failure;
  if (request.mode == Mode::kTrain) return CheckTrainable(module);
  return std::nullopt;
}

std::optional<Failure> CheckLossProgram(const torch::jit::Module& loss,
                                        size_t target_count) {
  const auto forward = ForwardArguments(loss);
  if (!forward.has_value()) {
    return BadRequest("step.loss_model_sha256",
                      "the loss has no method `forward`; only that is run");
  }
  const std::vector<c10::Argument>& arguments = forward->all;
  if (target_count + 1 > arguments.size()) {
    return BadRequest(
        "step.targets",
        absl::StrCat("the loss's forward takes ", arguments.size(),
                     " tensors (", ArgumentList(*forward), "); with ",
                     target_count,
                     " targets none is left for the model's output; give one "
                     "spec for each argument after the outputs"));
  }
  for (size_t i = 0; i < forward->needed; ++i) {
    if (TakesTensor(arguments[i])) continue;
    return BadRequest(
        "step.loss_model_sha256",
        absl::StrCat("argument ", i + 1, " (", arguments[i].name(),
                     ") of the loss's forward is ",
                     arguments[i].type()->repr_str(),
                     ", no tensor; wrap the loss in one whose arguments are"));
  }
  return std::nullopt;
}

}  // namespace memplan::gpu
