#include "cuda/worker/loss.h"

#include <ATen/ATen.h>

#include <vector>

namespace memplan::gpu {
namespace {

void CollectOutputs(const c10::IValue& value, std::vector<at::Tensor>& found) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && tensor.is_floating_point() &&
        tensor.requires_grad()) {
      found.push_back(tensor);
    }
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      CollectOutputs(element, found);
    }
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      CollectOutputs(element, found);
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      CollectOutputs(entry.value(), found);
    }
  }
}

// In single precision at least, as a loss is computed.
at::Tensor MeanSquare(const at::Tensor& output) {
  const at::Tensor values =
      output.scalar_type() == at::kDouble ? output : output.to(at::kFloat);
  return values.pow(2).mean();
}

}  // namespace

at::Tensor LossOf(const c10::IValue& output) {
  std::vector<at::Tensor> outputs;
  CollectOutputs(output, outputs);
  for (const at::Tensor& candidate : outputs) {
    if (candidate.dim() == 0) return candidate;
  }
  return outputs.empty() ? at::Tensor() : MeanSquare(outputs.front());
}

}  // namespace memplan::gpu
