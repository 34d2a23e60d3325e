// Slices that eager Python does not take. x[:, 0] is in a graph a slice of all of
// dimension 0 and then a select; Python leaves out a slice that takes all of its
// dimension, and so has no gradient of the size of x for it.
//
//   graph    slice x  select          backward: select x bytes, slice x bytes
//   Python            select          backward: select x bytes
#ifndef MEMPLAN_CUDA_WORKER_WHOLE_SLICES_H_
#define MEMPLAN_CUDA_WORKER_WHOLE_SLICES_H_

#include <torch/csrc/jit/api/module.h>

namespace memplan::gpu {

// Has slices that come of indexing with several indices give their input where
// they take all of it. x[:] alone is a slice in Python too. Changes the graphs of
// `module`: before it first runs.
void LeaveOutWholeSlices(const torch::jit::Module& module);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_WHOLE_SLICES_H_
