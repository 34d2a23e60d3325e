// A TorchScript archive as a module on the device. Loading runs no method of it,
// but an archive is a program: only a worker does this.
#ifndef MEMPLAN_CUDA_WORKER_PROGRAM_H_
#define MEMPLAN_CUDA_WORKER_PROGRAM_H_

#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

#include <optional>
#include <string>
#include <string_view>

#include "cuda/worker/trial/ending.h"

namespace memplan::gpu {

// Why the file at `path` cannot be a TorchScript archive; nothing if it is a
// zip. torch would take some other formats too, by parsers we do not trust.
// `field` of ProbeSpec names it.
std::optional<Failure> RefuseUnlessZip(const std::string& path,
                                       std::string_view field);

// In what order tensors come to the device: as the archive has them, or as
// nn.Module.to moves them.
enum class LoadOrder { kArchive, kPython };

// Loads the archive onto `device`. Devices that its graphs name (a module traced
// on the CPU names the CPU) are changed to `device`. In Python's order all of it
// is in host memory first. Throws what torch throws.
torch::jit::Module LoadProgram(const std::string& path, at::Device device,
                               LoadOrder order);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_PROGRAM_H_
