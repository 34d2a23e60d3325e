// Arguments for an operator call, made new from what a trace keeps of them:
// tensors of zeros, which are valid indices too, with the recorded sizes,
// strides and types.
#ifndef MEMPLAN_CUDA_WORKER_CALL_ARGUMENTS_H_
#define MEMPLAN_CUDA_WORKER_CALL_ARGUMENTS_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include "absl/status/statusor.h"
#include "planner/trace/irregular_calls.h"

namespace memplan::gpu {

// Those of `call`, in the order of `schema`; tensors that did not lie in host
// memory are on `device`. What was not recorded takes the schema's default.
// Returns kInvalidArgument, naming the argument, if it has none or the two do
// not go together; throws what torch throws.
absl::StatusOr<torch::jit::Stack> MakeCallArguments(
    const DistinctCall& call, const c10::FunctionSchema& schema,
    at::Device device);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_CALL_ARGUMENTS_H_
