#include "cuda/worker/trial/trial_steps.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/step_options.h"

namespace memplan::gpu {

std::vector<TrialStep> StepsOf(const TrialRequest& request) {
  const StepOptions& options = request.options;
  std::vector<TrialStep> steps;
  steps.reserve(request.steps + FurtherSteps(options));
  for (int i = 0; i < request.steps; ++i) {
    steps.push_back({absl::StrCat("step", i), StepKind::kStep, request.batch});
  }
  for (size_t i = 0; i < options.also_batches.size(); ++i) {
    steps.push_back({absl::StrCat("also", i), StepKind::kOtherBatch,
                     options.also_batches[i]});
  }
  if (options.evaluation_batch > 0) {
    steps.push_back(
        {"evaluate", StepKind::kEvaluation, options.evaluation_batch});
  }
  if (FurtherSteps(options) > 0) {
    steps.push_back({"again", StepKind::kAgain, request.batch});
  }
  return steps;
}

}  // namespace memplan::gpu
