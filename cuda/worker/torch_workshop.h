// What orders are carried out with, in torch.
#ifndef MEMPLAN_CUDA_WORKER_TORCH_WORKSHOP_H_
#define MEMPLAN_CUDA_WORKER_TORCH_WORKSHOP_H_

#include <memory>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/execution.h"
#include "cuda/worker/trial/orders.h"
#include "cuda/worker/trial/recorder.h"

namespace memplan::gpu {

// `device`, which has been started, and `recorder` outlive it.
class TorchWorkshop : public Workshop {
 public:
  TorchWorkshop(DeviceKind kind, Device& device, Recorder& recorder)
      : kind_(kind), device_(device), recorder_(recorder) {}

  std::unique_ptr<Execution> MakeExecution(
      const TrialRequest& request) override;
  void Rehearse(const TrialRequest& request) override;
  void OpenLibraries() override;
  CallsReport RunEach(const RunCalls& order) override;

 private:
  const DeviceKind kind_;
  Device& device_;
  Recorder& recorder_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TORCH_WORKSHOP_H_
