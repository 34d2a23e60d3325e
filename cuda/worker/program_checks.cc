#include "cuda/worker/program_checks.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace memplan::gpu {
namespace {

bool TakesTensor(const c10::Argument& argument) {
  return c10::TensorType::get()->isSubtypeOf(*argument.type());
}

// `x, mask (optional)`: the arguments of forward without self.
std::string ArgumentList(const std::vector<c10::Argument>& arguments) {
  std::vector<std::string> names;
  for (const c10::Argument& argument : arguments) {
    names.push_back(absl::StrCat(
        argument.name(), TakesTensor(argument) ? "" : " (no tensor)",
        argument.default_value().has_value() ? " (optional)" : ""));
  }
  return absl::StrJoin(names, ", ");
}

std::optional<Failure> CheckInputs(const torch::jit::Module& module,
                                   const TrialRequest& request) {
  const std::optional<torch::jit::Method> forward =
      module.find_method("forward");
  if (!forward.has_value()) {
    return BadRequest("model_sha256",
                      "the model has no method `forward`; only that is run");
  }
  std::vector<c10::Argument> arguments =
      forward->function().getSchema().arguments();
  arguments.erase(arguments.begin());  // self
  size_t needed = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].default_value().has_value()) needed = i + 1;
  }
  const size_t given = request.inputs.size();
  if (given < needed || given > arguments.size()) {
    return BadRequest(
        "inputs",
        absl::StrCat("the model's forward takes ", arguments.size(),
                     " inputs (", ArgumentList(arguments), "), ", given,
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

void FindModes(const torch::jit::Block& block, BakedModes& modes) {
  for (const torch::jit::Node* node : block.nodes()) {
    for (const torch::jit::Block* inner : node->blocks()) {
      FindModes(*inner, modes);
    }
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr) continue;
    for (const char* name : {"training", "train"}) {
      const std::optional<int> index = schema->argumentIndexWithName(name);
      if (!index.has_value()) continue;
      const auto value = torch::jit::toIValue(node->input(*index));
      if (!value.has_value() || !value->isBool()) continue;
      if (value->toBool()) {
        modes.training = true;
      } else {
        modes.evaluating = node->kind().toQualString();
      }
    }
  }
}

BakedModes ModesOf(const torch::jit::Module& module) {
  BakedModes modes;
  const auto unit = module._ivalue()->compilation_unit();
  for (torch::jit::Function* function : unit->get_functions()) {
    if (auto* graph = torch::jit::tryToGraphFunction(*function)) {
      FindModes(*graph->graph()->block(), modes);
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

}  // namespace memplan::gpu
