#include "cuda/worker/messages/messages.h"

#include <string_view>

#include "cuda/worker/messages/words.h"

namespace memplan::gpu {

std::string_view ModeName(Mode mode) { return WordFor(mode, kModeWords); }

std::string_view OptimizerName(Optimizer optimizer) {
  return WordFor(optimizer, kOptimizerWords);
}

std::string_view RunAsName(RunAs run_as) {
  return WordFor(run_as, kRunAsWords);
}

std::string_view EndClassName(EndClass end_class) {
  return WordFor(end_class, kEndClassWords);
}

int StepCount(const TrialRequest& request) {
  return request.steps + FurtherSteps(request.options);
}

}  // namespace memplan::gpu
