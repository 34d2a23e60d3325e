#include "cuda/worker/inputs.h"

#include <ATen/ATen.h>

#include "absl/status/statusor.h"

namespace memplan::gpu {
namespace {

at::ScalarType ScalarTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return at::kDouble;
    case DType::kFloat32:
      return at::kFloat;
    case DType::kFloat16:
      return at::kHalf;
    case DType::kBFloat16:
      return at::kBFloat16;
    case DType::kInt64:
      return at::kLong;
    case DType::kInt32:
      return at::kInt;
    case DType::kInt16:
      return at::kShort;
    case DType::kInt8:
      return at::kChar;
    case DType::kUInt8:
      return at::kByte;
    case DType::kBool:
      return at::kBool;
  }
  return at::kFloat;
}

}  // namespace

at::Tensor MakeInput(const InputSpec& spec, const std::vector<int64_t>& shape,
                     at::Device device) {
  const at::ScalarType type = ScalarTypeOf(spec.dtype);
  const at::TensorOptions options = at::dtype(type).device(device);
  switch (spec.fill.kind) {
    case FillKind::kNormal:
      return at::randn(shape, options);
    case FillKind::kOnes:
      return at::ones(shape, options);
    case FillKind::kUniform:
      if (at::isFloatingType(type)) {
        return at::empty(shape, options)
            .uniform_(spec.fill.low, spec.fill.high);
      }
      return at::randint(static_cast<int64_t>(spec.fill.low),
                         static_cast<int64_t>(spec.fill.high), shape, options);
    case FillKind::kZeros:
      break;
  }
  return at::zeros(shape, options);
}

std::vector<c10::IValue> MakeInputs(const std::vector<InputSpec>& specs,
                                    int64_t batch,
                                    const std::map<std::string, int64_t>& dims,
                                    at::Device device) {
  std::vector<c10::IValue> inputs;
  inputs.reserve(specs.size());
  for (const InputSpec& spec : specs) {
    inputs.emplace_back(
        MakeInput(spec, InputShape(spec, batch, dims).value(), device));
  }
  return inputs;
}

}  // namespace memplan::gpu
