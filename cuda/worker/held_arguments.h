// What eager Python holds and TorchScript does not. nn.Module.__call__ keeps its
// arguments until forward returns; TorchScript lets go of each after its last use,
// which may be the first operator of forward.
//
//   x = self.norm(input)          Python: x lives until attention has returned
//   x = self.attention(x)         TorchScript: until attention has copied it
#ifndef MEMPLAN_CUDA_WORKER_HELD_ARGUMENTS_H_
#define MEMPLAN_CUDA_WORKER_HELD_ARGUMENTS_H_

#include <torch/csrc/jit/api/module.h>

namespace memplan::gpu {

// Has each call of a submodule's forward hold its arguments until it returns.
// Changes the graphs of `module`: before it first runs, and once.
void HoldArgumentsAsPython(const torch::jit::Module& module);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_HELD_ARGUMENTS_H_
