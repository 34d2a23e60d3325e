// Synthetic inputs from their specs.
#ifndef MEMPLAN_CUDA_WORKER_INPUTS_H_
#define MEMPLAN_CUDA_WORKER_INPUTS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planner/plan/input_spec.h"

namespace memplan::gpu {

// A new tensor on `device` with the values that `spec` asks for; `shape` is its
// sizes at the batch. Takes one block from the allocator and no scratch. Throws
// what torch throws.
at::Tensor MakeInput(const InputSpec& spec, const std::vector<int64_t>& shape,
                     at::Device device);

// One for each of `specs`, as arguments of a method. Needs InputShape to be OK
// for all of them.
std::vector<c10::IValue> MakeInputs(const std::vector<InputSpec>& specs,
                                    int64_t batch,
                                    const std::map<std::string, int64_t>& dims,
                                    at::Device device);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_INPUTS_H_
