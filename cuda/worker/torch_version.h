// The version of libtorch that the worker was built with.
#ifndef MEMPLAN_CUDA_WORKER_TORCH_VERSION_H_
#define MEMPLAN_CUDA_WORKER_TORCH_VERSION_H_

#include <string>

namespace memplan::gpu {

std::string TorchVersion();  // such as 2.11.0

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TORCH_VERSION_H_
