// Runs operator calls, each alone: found by name in the dispatcher, called boxed
// with new arguments, without gradients, its events of memory kept.
#ifndef MEMPLAN_CUDA_WORKER_ISOLATED_CALL_H_
#define MEMPLAN_CUDA_WORKER_ISOLATED_CALL_H_

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/call_probe.h"
#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/recorder.h"

namespace memplan::gpu {

// Used by one thread. `device` and `recorder` outlive it.
class IsolatedCalls : public CallRunner {
 public:
  IsolatedCalls(DeviceKind kind, Device& device, Recorder& recorder)
      : kind_(kind), device_(device), recorder_(recorder) {}

  CallRun Run(const DistinctCall& call) override;

 private:
  std::optional<Failure> RunGuarded(const DistinctCall& call, CallRun& run);

  const DeviceKind kind_;
  Device& device_;
  Recorder& recorder_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_ISOLATED_CALL_H_
