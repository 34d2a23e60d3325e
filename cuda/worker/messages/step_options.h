// How a step is run, beyond mode, optimizer and executor: what a user's own
// program does beside the plain loop. The defaults are the plain loop.
//
//   inputs ─ [zero] ─ forward ─ loss ─ backward ─ optimizer
//              └──── accumulation_steps times ───┘
//   … the trial's steps … ─ also_batches ─ evaluation ─ one more step
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_STEP_OPTIONS_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_STEP_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/input_spec.h"

namespace memplan::gpu {

// Automatic mixed precision, as torch.autocast: forward and loss in the lower
// precision where the operators have it. Training in float16 scales gradients,
// as torch.amp.GradScaler.
enum class Autocast { kNone, kBFloat16, kFloat16 };

// What becomes of the gradients before a step's first backward.
enum class ZeroGrad {
  kNone,  // let go of, and made anew
  kZero,  // kept, and set to zero
};

// The implementation of an optimizer that the user's program has. A worker has
// libtorch's C++ one whatever is said here.
enum class OptimizerImplementation { kLibtorch, kForLoop, kForeach, kFused };

struct StepOptions {
  Autocast autocast = Autocast::kNone;
  // torch.backends.cudnn.benchmark and .deterministic.
  bool cudnn_benchmark = false;
  bool cudnn_deterministic = false;
  // Further batches, each run for a step after the trial's own.
  std::vector<int64_t> also_batches;

  // When training only:
  int accumulation_steps = 1;  // micro-batches in one optimizer step
  ZeroGrad zero_grad = ZeroGrad::kNone;
  int64_t evaluation_batch = 0;  // 0: no evaluation
  // The output, counted from 0, that is the loss or that it is made from.
  std::optional<int> loss_output;
  // What a loss program takes after the model's outputs.
  std::vector<InputSpec> targets;
  friend bool operator==(const StepOptions&, const StepOptions&) = default;
};

// none, bf16, fp16; none, zero; libtorch, for-loop, foreach, fused.
std::string_view AutocastName(Autocast autocast);
std::string_view ZeroGradName(ZeroGrad zero_grad);
std::string_view OptimizerImplementationName(OptimizerImplementation kind);

// How many steps follow those that were asked for: other batches, an evaluation
// and, if there are any of these, one more step as at first.
int FurtherSteps(const StepOptions& options);

// `benchmark`, `deterministic` or both, as far as cuDNN is told so.
std::string CudnnSwitches(const StepOptions& options);

inline constexpr int kMaxAccumulationSteps = 1024;
inline constexpr size_t kMaxAlsoBatches = 8;
inline constexpr int kMaxLossOutput = 63;
inline constexpr size_t kMaxTargets = 64;

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_STEP_OPTIONS_H_
