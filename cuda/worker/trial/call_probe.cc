#include "cuda/worker/trial/call_probe.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/frame.h"
#include "cuda/worker/trial/call_events.h"
#include "planner/base/format.h"

namespace memplan::gpu {
namespace {

class Probe {
 public:
  Probe(const RunCalls& order, Device& device, CallRunner& runner)
      : order_(order), device_(device), runner_(runner) {}

  CallsReport Run() {
    CallsReport report;
    for (const DistinctCall& call : order_.calls) {
      report.results.push_back(ResultOf(call));
    }
    return report;
  }

 private:
  CallResult ResultOf(const DistinctCall& call) {
    if (!lost_.empty()) return {.plans = {}, .fault = lost_};
    if (!call.has_signature) {
      return {.plans = {}, .fault = "its arguments were not recorded"};
    }
    // Twice: what a first run sets up for good is no part of the call.
    CallRun run = runner_.Run(call);
    if (!run.failure.has_value()) {
      // Only what was held when the cache was empty tells how to refuse scratch.
      run =
          call.is_convolution ? RunUnder(order_.cap, call) : runner_.Run(call);
    }
    if (run.failure.has_value()) {
      return {.plans = {}, .fault = FaultOf(call, *run.failure)};
    }
    CallResult result{.plans = {PlanOfEvents(run.events)}, .fault = ""};
    if (call.is_convolution) AddFallbacks(call, std::move(run), result);
    return result;
  }

  std::string FaultOf(const DistinctCall& call, const Failure& failure) {
    NoticeLoss(call);
    std::string fault = failure.message;
    if (failure.end == EndKind::kOutOfMemory && order_.cap.has_value()) {
      fault = absl::StrCat("it needs more than the cap of ",
                           FormatBytes(*order_.cap), ": ", fault);
    }
    return TrimmedMessage(fault);
  }

  // An error of CUDA that sticks fails all that follows.
  void NoticeLoss(const DistinctCall& call) {
    const auto state = device_.State();
    if (state.ok()) return;
    lost_ = TrimmedMessage(absl::StrCat(
        "the device was lost to this process when ", call.operator_name,
        " ran alone: ", std::string(state.status().message())));
  }

  // Refuses the largest scratch of the last plan, until nothing new comes.
  void AddFallbacks(const DistinctCall& call, CallRun run, CallResult& result) {
    while (result.plans.size() < kMostPlansProbed) {
      const std::optional<Bytes> cap = RefusingCap(run.held, run.events);
      if (!cap.has_value()) return;
      run = RunUnder(cap, call);
      if (run.failure.has_value()) return;
      CallPlan plan = PlanOfEvents(run.events);
      const bool is_known = std::find(result.plans.begin(), result.plans.end(),
                                      plan) != result.plans.end();
      if (is_known) return;
      result.plans.push_back(std::move(plan));
    }
  }

  // With nothing in the cache.
  CallRun RunUnder(std::optional<Bytes> cap, const DistinctCall& call) {
    absl::Status ready = device_.ReleaseCache();
    if (ready.ok()) ready = device_.SetCap(cap);
    CallRun run;
    if (ready.ok()) {
      run = runner_.Run(call);
    } else {
      run.failure = Failure{.end = EndKind::kModelFailed,
                            .field = "",
                            .message = std::string(ready.message())};
    }
    if (run.failure.has_value()) NoticeLoss(call);
    device_.SetCap(order_.cap).IgnoreError();
    return run;
  }

  const RunCalls& order_;
  Device& device_;
  CallRunner& runner_;
  std::string lost_;  // why; empty while the device works
};

bool HasLongPlan(const CallResult& result) {
  return std::any_of(
      result.plans.begin(), result.plans.end(),
      [](const CallPlan& plan) { return plan.size() > kMaxStepsOfPlan; });
}

}  // namespace

CallsReport ProbeCalls(const RunCalls& order, Device& device,
                       CallRunner& runner) {
  return Probe(order, device, runner).Run();
}

CallsReport FittingFrame(CallsReport report) {
  const CallResult too_long = {.plans = {},
                               .fault = "what it did is too long to tell"};
  // Every result takes at least this; the rest of the frame is for plans.
  CallsReport least;
  least.results.resize(report.results.size(), too_long);
  size_t length = Encode(least).size();
  for (CallResult& result : report.results) {
    length += Encode(CallsReport{{result}}).size();
    if (length > kMaxFrameBytes || HasLongPlan(result)) result = too_long;
  }
  return report;
}

}  // namespace memplan::gpu
