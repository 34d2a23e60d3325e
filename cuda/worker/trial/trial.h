// One trial: load, steps, and the report. Knows the order of things and what is
// measured when; what a model and a device are is behind interfaces.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_TRIAL_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_TRIAL_H_

#include <optional>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/ending.h"
#include "cuda/worker/trial/execution.h"
#include "cuda/worker/trial/recorder.h"

namespace memplan::gpu {

// Hears how the trial goes.
class TrialListener {
 public:
  virtual ~TrialListener() = default;
  virtual void OnProgress(const Progress& progress) = 0;
  // The last step is done and its memory still held until this returns.
  virtual void OnSettled(const Settled& settled) = 0;
};

// How loading went.
struct LoadResult {
  std::optional<Failure> failure;
  Span span;
};

// The trial's first phase.
LoadResult RunLoad(Device& device, Execution& execution, Recorder& recorder,
                   TrialListener& listener);

// The rest of it: the steps of `request`, unless loading failed. A step that
// failed is the report's last step: its peaks show how far it came.
Report RunSteps(const TrialRequest& request, const LoadResult& load,
                Device& device, Execution& execution, Recorder& recorder,
                TrialListener& listener);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_TRIAL_H_
