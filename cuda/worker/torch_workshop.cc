#include "cuda/worker/torch_workshop.h"

#include <thread>

#include "cuda/worker/isolated_call.h"
#include "cuda/worker/tiny_convolution.h"
#include "cuda/worker/torch_execution.h"
#include "cuda/worker/trial/call_probe.h"
#include "cuda/worker/trial/trial_steps.h"

namespace memplan::gpu {
namespace {

// TorchScript settles on its graphs by the third.
constexpr int kRehearsedSteps = 3;

}  // namespace

std::unique_ptr<Execution> TorchWorkshop::MakeExecution(
    const TrialRequest& request) {
  return MakeTorchExecution(request, device_, recorder_);
}

void TorchWorkshop::Rehearse(const TrialRequest& request) {
  // As in RunEach.
  std::thread([&] {
    const auto execution = MakeExecution(request);
    if (execution->Load() || execution->Begin(request)) return;
    int done = 0;
    for (const TrialStep& step : StepsOf(request)) {
      if (++done > kRehearsedSteps || execution->RunStep(step)) return;
    }
  }).join();
}

void TorchWorkshop::OpenLibraries() {
  // As in RunEach.
  std::thread([&] { RunTinyConvolution(kind_, device_); }).join();
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
