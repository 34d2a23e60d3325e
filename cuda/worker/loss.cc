#include "cuda/worker/loss.h"

#include <ATen/ATen.h>

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cuda/worker/method_arguments.h"

namespace memplan::gpu {
namespace {

void CollectTensors(const c10::IValue& value, std::vector<at::Tensor>& found) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) found.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      CollectTensors(element, found);
    }
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      CollectTensors(element, found);
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      CollectTensors(entry.value(), found);
    }
  }
}

std::vector<at::Tensor> TensorsOf(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  CollectTensors(value, tensors);
  return tensors;
}

bool CanBeTrained(const at::Tensor& tensor) {
  return tensor.is_floating_point() && tensor.requires_grad();
}

// In single precision at least, as a loss is computed.
at::Tensor MeanSquare(const at::Tensor& output) {
  const at::Tensor values =
      output.scalar_type() == at::kDouble ? output : output.to(at::kFloat);
  return values.pow(2).mean();
}

at::Tensor LossFrom(const at::Tensor& output) {
  return output.dim() == 0 ? output : MeanSquare(output);
}

// What is wrong with a loss that a program returned; empty if nothing is.
std::string FaultOfLoss(const c10::IValue& result) {
  if (!result.isTensor()) return "no tensor";
  const at::Tensor& loss = result.toTensor();
  if (loss.dim() != 0) {
    return absl::StrCat("a tensor of shape [", absl::StrJoin(loss.sizes(), ","),
                        "]");
  }
  return CanBeTrained(loss) ? "" : "a scalar without a gradient";
}

}  // namespace

std::variant<at::Tensor, Failure> Loss::Of(
    const c10::IValue& output, const std::vector<c10::IValue>& targets) {
  if (program_) return OfProgram(output, targets);
  if (output_) return OfNumber(output);
  const std::vector<at::Tensor> outputs = TensorsOf(output);
  const at::Tensor* first = nullptr;
  for (const at::Tensor& candidate : outputs) {
    if (!CanBeTrained(candidate)) continue;
    if (candidate.dim() == 0) return candidate;
    if (first == nullptr) first = &candidate;
  }
  if (first != nullptr) return MeanSquare(*first);
  return BadRequest(
      "mode",
      "the model cannot be trained: none of its outputs is a floating tensor "
      "that depends on a parameter; return the loss, or the output it is to "
      "be computed from");
}

std::variant<at::Tensor, Failure> Loss::OfNumber(
    const c10::IValue& output) const {
  const std::vector<at::Tensor> outputs = TensorsOf(output);
  const size_t index = static_cast<size_t>(*output_);
  if (index >= outputs.size()) {
    return BadRequest(
        "step.loss_output",
        absl::StrCat("the model has ", outputs.size(), " outputs, and output ",
                     index, " is to be the loss; they are counted from 0"));
  }
  if (!CanBeTrained(outputs[index])) {
    return BadRequest(
        "step.loss_output",
        absl::StrCat("output ", index,
                     " of the model is no floating tensor "
                     "that depends on a parameter; name one that is"));
  }
  return LossFrom(outputs[index]);
}

std::variant<at::Tensor, Failure> Loss::OfProgram(
    const c10::IValue& output, const std::vector<c10::IValue>& targets) {
  std::vector<c10::IValue> given;
  for (at::Tensor& tensor : TensorsOf(output)) {
    given.emplace_back(std::move(tensor));
  }
  const size_t output_count = given.size();
  given.insert(given.end(), targets.begin(), targets.end());
  const MethodArguments taken = ForwardArguments(*program_).value();
  if (given.size() < taken.needed || given.size() > taken.all.size()) {
    return BadRequest(
        "step.targets",
        absl::StrCat("the loss's forward takes ", taken.all.size(),
                     " tensors (", ArgumentList(taken), "); the model has ",
                     output_count, " outputs and there are ", targets.size(),
                     " targets: give one spec for each argument after the "
                     "outputs"));
  }
  const c10::IValue result = program_->forward(std::move(given));
  if (const std::string fault = FaultOfLoss(result); !fault.empty()) {
    return BadRequest(
        "step.loss_model_sha256",
        absl::StrCat("the loss returned ", fault,
                     "; a floating scalar that depends on the model's output "
                     "is needed, such as the mean over the batch"));
  }
  return result.toTensor();
}

}  // namespace memplan::gpu
