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

int FurtherSteps(const StepOptions& options) {
  const int between = static_cast<int>(options.also_batches.size()) +
                      (options.evaluation_batch > 0 ? 1 : 0);
  return between > 0 ? between + 1 : 0;
}

}  // namespace memplan::gpu
