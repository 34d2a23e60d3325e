// The number types of input specs: their names and what they can hold.
#include "planner/plan/dtype_table.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "planner/plan/input_spec.h"

namespace memplan {
namespace {

// 2^53: up to here a double holds every whole number.
constexpr double kExactInDouble = 9'007'199'254'740'992.0;

// In DType's order. Floating limits are the largest finite value of each.
constexpr std::array<DTypeTraits, 10> kDTypes = {{
    {"float64", true, -1.7976931348623157e308, 1.7976931348623157e308},
    {"float32", true, -3.4028234663852886e38, 3.4028234663852886e38},
    {"float16", true, -65504, 65504},
    {"bfloat16", true, -3.3895313892515355e38, 3.3895313892515355e38},
    {"int64", false, -kExactInDouble, kExactInDouble},
    {"int32", false, -2147483648.0, 2147483647.0},
    {"int16", false, -32768, 32767},
    {"int8", false, -128, 127},
    {"uint8", false, 0, 255},
    {"bool", false, 0, 1},
}};

}  // namespace

const DTypeTraits& TraitsOf(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)];
}

std::string_view DTypeName(DType dtype) { return TraitsOf(dtype).name; }

std::optional<DType> DTypeNamed(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace memplan
