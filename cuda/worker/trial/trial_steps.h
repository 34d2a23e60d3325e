// The steps of a trial, in order: those that were asked for, then what a program
// does between two of them, then one more. Pure.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_TRIAL_STEPS_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_TRIAL_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/worker/messages/messages.h"
#include "planner/plan/trial.h"

namespace memplan::gpu {

struct TrialStep {
  std::string phase;  // in the trace: step0, step1, also0, evaluate, again
  StepKind kind = StepKind::kStep;
  int64_t batch = 1;
  friend bool operator==(const TrialStep&, const TrialStep&) = default;
};

std::vector<TrialStep> StepsOf(const TrialRequest& request);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_TRIAL_STEPS_H_
