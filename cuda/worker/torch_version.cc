#include "cuda/worker/torch_version.h"

#include <torch/version.h>

namespace memplan::gpu {

std::string TorchVersion() { return TORCH_VERSION; }

}  // namespace memplan::gpu
