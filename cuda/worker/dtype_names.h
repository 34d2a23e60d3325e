// The names of tensors' types in traces: Python's where it has one of its own,
// torch's else. And what traces add to them of what a call runs in.
#ifndef MEMPLAN_CUDA_WORKER_DTYPE_NAMES_H_
#define MEMPLAN_CUDA_WORKER_DTYPE_NAMES_H_

#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

namespace memplan::gpu {

std::string_view DtypeName(at::ScalarType type);

// The type that DtypeName calls so.
std::optional<at::ScalarType> DtypeOfName(std::string_view name);

// Behind the type of a tensor that requires a gradient, in a call that autograd
// sees: a leaf is a parameter, the others are results.
inline constexpr std::string_view kLeafMark = "@leaf";
inline constexpr std::string_view kGradientMark = "@grad";

// Behind the overload of a call that runs under autocast; the type that it casts
// to follows.
inline constexpr char kAutocastMark = '@';

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_DTYPE_NAMES_H_
