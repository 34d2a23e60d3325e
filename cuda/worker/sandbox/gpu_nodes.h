// The device files of the GPUs that a worker is given.
#ifndef MEMPLAN_CUDA_WORKER_SANDBOX_GPU_NODES_H_
#define MEMPLAN_CUDA_WORKER_SANDBOX_GPU_NODES_H_

#include <string>
#include <string_view>
#include <vector>

namespace memplan::gpu {

// The file of the GPU with the id `gpu` (`GPU-…`), as the driver's folder
// `driver_folder` (/proc/driver/nvidia) has its number; those of all GPUs in
// `device_folder` (/dev) if that cannot be told, as of a part of a GPU (`MIG-…`).
std::vector<std::string> GpuNodes(std::string_view gpu,
                                  const std::string& driver_folder,
                                  const std::string& device_folder);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_SANDBOX_GPU_NODES_H_
