// Whether a program goes with a request at all, told from its schema and graphs
// before anything runs: what would fail at every batch is refused at once.
#ifndef MEMPLAN_CUDA_WORKER_PROGRAM_CHECKS_H_
#define MEMPLAN_CUDA_WORKER_PROGRAM_CHECKS_H_

#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <optional>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/ending.h"

namespace memplan::gpu {

// A kBadRequest failure, or nothing: the inputs fit forward's arguments and,
// for training, the module has parameters to train and was not traced in eval
// mode.
std::optional<Failure> CheckProgram(const torch::jit::Module& module,
                                    const TrialRequest& request);

// The same for a loss's program, which takes the model's outputs, whose number
// only a run shows, and then the targets.
std::optional<Failure> CheckLossProgram(const torch::jit::Module& loss,
                                        size_t target_count);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_PROGRAM_CHECKS_H_
