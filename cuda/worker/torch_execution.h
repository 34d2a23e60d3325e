// Execution with torch: the one place where torch's exceptions end.
#ifndef MEMPLAN_CUDA_WORKER_TORCH_EXECUTION_H_
#define MEMPLAN_CUDA_WORKER_TORCH_EXECUTION_H_

#include <memory>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/execution.h"
#include "cuda/worker/trial/recorder.h"

namespace memplan::gpu {

// Runs `request` on `device`, which has been started and outlives the result,
// as does `recorder`.
std::unique_ptr<Execution> MakeTorchExecution(const TrialRequest& request,
                                              Device& device,
                                              Recorder& recorder);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TORCH_EXECUTION_H_
