#include "cuda/worker/messages/step_options.h"

#include "cuda/worker/messages/words.h"

namespace memplan::gpu {

std::string_view AutocastName(Autocast autocast) {
  return WordFor(autocast, kAutocastWords);
}

std::string_view ZeroGradName(ZeroGrad zero_grad) {
  return WordFor(zero_grad, kZeroGradWords);
}

std::string_view OptimizerImplementationName(OptimizerImplementation kind) {
  return WordFor(kind, kOptimizerImplementationWords);
}

std::string CudnnSwitches(const StepOptions& options) {
  std::string switches = options.cudnn_benchmark ? "benchmark" : "";
  if (options.cudnn_deterministic) {
    switches += switches.empty() ? "deterministic" : " deterministic";
  }
  return switches;
}

int FurtherSteps(const StepOptions& options) {
  const int between = static_cast<int>(options.also_batches.size()) +
                      (options.evaluation_batch > 0 ? 1 : 0);
  return between > 0 ? between + 1 : 0;
}

}  // namespace memplan::gpu
