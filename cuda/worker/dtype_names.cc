#include "cuda/worker/dtype_names.h"

namespace memplan::gpu {

std::string_view DtypeName(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kShort:
      return "int16";
    case at::kChar:
      return "int8";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    default:
      return c10::toString(type);
  }
}

std::optional<at::ScalarType> DtypeOfName(std::string_view name) {
  constexpr int kCount = static_cast<int>(at::ScalarType::Undefined);
  for (int i = 0; i < kCount; ++i) {
    const auto type = static_cast<at::ScalarType>(i);
    if (DtypeName(type) == name) return type;
  }
  return std::nullopt;
}

}  // namespace memplan::gpu
