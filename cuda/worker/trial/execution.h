// The model's side of a trial as the trial sees it: load, then step after step.
// Implemented with torch by TorchExecution, in tests by a table.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_EXECUTION_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_EXECUTION_H_

#include <optional>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/ending.h"
#include "cuda/worker/trial/trial_steps.h"

namespace memplan::gpu {

// Not thread-safe. Its methods do not throw.
class Execution {
 public:
  virtual ~Execution() = default;

  // Loads the model onto the device and checks that it goes with the request.
  // Returns why not; nothing if all is well.
  virtual std::optional<Failure> Load() = 0;
  // Makes ready for the steps of `request`, which is of the loaded program. Takes
  // no memory of the device. Needs a Load that went well.
  virtual std::optional<Failure> Begin(const TrialRequest& request) = 0;
  // Runs one step and waits for the device. Needs a Begin that went well, and is
  // not called again after a failure.
  virtual std::optional<Failure> RunStep(const TrialStep& step) = 0;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_EXECUTION_H_
