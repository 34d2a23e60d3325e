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

// Loads the archive onto `device`. Devices that its graphs name (a module traced
// on the CPU names the CPU) are changed to `device`. Throws what torch throws.
torch::jit::Module LoadProgram(const std::string& path, at::Device device);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_PROGRAM_H_
