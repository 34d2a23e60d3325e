// Whether a program goes with a request at all, told from its schema and graphs
// before anything runs: what would fail at every batch is refused at once.
#ifndef MEMPLAN_CUDA_WORKER_PROGRAM_CHECKS_H_
#define MEMPLAN_CUDA_WORKER_PROGRAM_CHECKS_H_

#include <torch/csrc/jit/api/module.h>

#include <optional>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/ending.h"

namespace memplan::gpu {

// A kBadRequest failure, or nothing: the inputs fit forward's arguments and,
// for training, the module has parameters to train and was not traced in eval
// mode.
std::optional<Failure> CheckProgram(const torch::jit::Module& module,
                                    const TrialRequest& request);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_PROGRAM_CHECKS_H_
