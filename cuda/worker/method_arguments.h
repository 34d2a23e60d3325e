// What a program's forward takes.
#ifndef MEMPLAN_CUDA_WORKER_METHOD_ARGUMENTS_H_
#define MEMPLAN_CUDA_WORKER_METHOD_ARGUMENTS_H_

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace memplan::gpu {

struct MethodArguments {
  std::vector<c10::Argument> all;  // self left out
  size_t needed = 0;  // those without a default, and all before them
};

// Unset if `module` has no forward.
std::optional<MethodArguments> ForwardArguments(
    const torch::jit::Module& module);

bool TakesTensor(const c10::Argument& argument);

// `x, scale (no tensor) (optional)`.
std::string ArgumentList(const MethodArguments& arguments);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_METHOD_ARGUMENTS_H_
