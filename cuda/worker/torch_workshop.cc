#include "cuda/worker/torch_workshop.h"

#include "cuda/worker/torch_execution.h"

namespace memplan::gpu {

std::unique_ptr<Execution> TorchWorkshop::MakeExecution(
    const TrialRequest& request) {
  return MakeTorchExecution(request, device_, recorder_);
}

CallsReport TorchWorkshop::RunEach(const RunCalls& order) {
  CallsReport report;
  report.results.resize(order.calls.size());
  return report;
}

}  // namespace memplan::gpu
