#include "cuda/worker/torch_workshop.h"

#include <thread>

#include "cuda/worker/isolated_call.h"
#include "cuda/worker/torch_execution.h"
#include "cuda/worker/trial/call_probe.h"

namespace memplan::gpu {

std::unique_ptr<Execution> TorchWorkshop::MakeExecution(
    const TrialRequest& request) {
  return MakeTorchExecution(request, device_, recorder_);
}

CallsReport TorchWorkshop::RunEach(const RunCalls& order) {
  CallsReport report;
  // cuDNN keeps for each thread which plan it settled on. With this thread goes
  // what it learnt when memory was refused, and no run finds it.
  std::thread([&] {
    IsolatedCalls calls(kind_, device_, recorder_);
    report = FittingFrame(ProbeCalls(order, device_, calls));
  }).join();
  return report;
}

}  // namespace memplan::gpu
