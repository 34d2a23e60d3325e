// The example inputs that a traced archive keeps: their sizes, no values.
#ifndef MEMPLAN_CUDA_WORKER_TRACED_INPUTS_H_
#define MEMPLAN_CUDA_WORKER_TRACED_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace memplan::gpu {

// The sizes of the tensors that `forward` was traced with, in order. Empty if
// the archive keeps none, as scripted ones do, or they cannot be read: they are
// only a hint. Does not throw.
std::vector<std::vector<int64_t>> TracedInputShapes(const std::string& path);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRACED_INPUTS_H_
