#include "cuda/worker/traced_inputs.h"

#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include <exception>

namespace memplan::gpu {
namespace {

// The record is a dictionary from a method's name to the list of its inputs.
c10::IValue ReadTracedInputs(caffe2::serialize::PyTorchStreamReader& reader) {
  return torch::jit::readArchiveAndTensors(
      "traced_inputs", /*pickle_prefix=*/"", /*tensor_prefix=*/"traced_inputs/",
      /*type_resolver=*/std::nullopt, /*obj_loader=*/std::nullopt,
      at::Device(at::kCPU), reader);
}

std::vector<std::vector<int64_t>> TensorShapes(const c10::IValue& inputs) {
  std::vector<std::vector<int64_t>> shapes;
  for (const c10::IValue& input : inputs.toListRef()) {
    if (input.isTensor()) shapes.push_back(input.toTensor().sizes().vec());
  }
  return shapes;
}

}  // namespace

std::vector<std::vector<int64_t>> TracedInputShapes(const std::string& path) {
  try {
    caffe2::serialize::PyTorchStreamReader reader(path);
    if (!reader.hasRecord("traced_inputs.pkl")) return {};
    for (const auto& method : ReadTracedInputs(reader).toGenericDict()) {
      if (method.key().toStringRef() == "forward") {
        return TensorShapes(method.value());
      }
    }
  } catch (const std::exception&) {
    // Whatever is wrong with the archive, loading it says it better.
  }
  return {};
}

}  // namespace memplan::gpu
