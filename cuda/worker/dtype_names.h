// The names of tensors' types in traces: Python's where it has one of its own,
// torch's else.
#ifndef MEMPLAN_CUDA_WORKER_DTYPE_NAMES_H_
#define MEMPLAN_CUDA_WORKER_DTYPE_NAMES_H_

#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

namespace memplan::gpu {

std::string_view DtypeName(at::ScalarType type);

// The type that DtypeName calls so.
std::optional<at::ScalarType> DtypeOfName(std::string_view name);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_DTYPE_NAMES_H_
