#include "cuda/worker/trial/trial.h"

#include <chrono>
#include <string>

#include "cuda/worker/trial/trial_steps.h"

namespace memplan::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void ReportFailure(const Failure& failure, Report& report) {
  report.end = failure.end;
  report.end_class = failure.end_class;
  report.field = failure.field;
  report.message = failure.message;
}

// What loading showed; returns whether the steps may begin.
bool ReportLoad(const LoadResult& load, Report& report) {
  report.load_peaks = load.span.peaks;
  report.load_allocation_retries = load.span.allocation_retries;
  report.load_failed_requests = load.span.failed_requests;
  if (!load.failure.has_value()) return true;
  ReportFailure(*load.failure, report);
  report.failed_while_loading = true;
  return false;
}

// Runs one step; returns whether the next may begin.
bool RunStep(const TrialStep& step, Device& device, Execution& execution,
             Report& report) {
  const Clock::time_point start = Clock::now();
  device.BeginSpan();
  const std::optional<Failure> failure = execution.RunStep(step);
  const Span span = device.ReadSpan();
  const bool other =
      step.kind == StepKind::kOtherBatch || step.kind == StepKind::kEvaluation;
  report.steps.push_back({.peaks = span.peaks,
                          .seconds = SecondsSince(start),
                          .allocation_retries = span.allocation_retries,
                          .failed_requests = span.failed_requests,
                          .kind = step.kind,
                          .batch = other ? step.batch : 0});
  if (failure.has_value()) ReportFailure(*failure, report);
  return !failure.has_value();
}

}  // namespace

LoadResult RunLoad(Device& device, Execution& execution, Recorder& recorder,
                   TrialListener& listener) {
  listener.OnProgress({.phase = "load", .steps_done = 0});
  recorder.BeginPhase("load");
  device.BeginSpan();
  LoadResult load;
  load.failure = execution.Load();
  load.span = device.ReadSpan();
  return load;
}

Report RunSteps(const TrialRequest& request, const LoadResult& load,
                Device& device, Execution& execution, Recorder& recorder,
                TrialListener& listener) {
  Report report;
  report.cap = device.cap();
  if (!ReportLoad(load, report)) return report;
  if (const auto failure = execution.Begin(request)) {
    ReportFailure(*failure, report);
    report.failed_while_loading = true;
    return report;
  }
  int done = 0;
  for (const TrialStep& step : StepsOf(request)) {
    listener.OnProgress({.phase = "step", .steps_done = done++});
    recorder.BeginPhase(step.phase);
    if (!RunStep(step, device, execution, report)) return report;
  }
  recorder.BeginPhase("end");
  listener.OnProgress({.phase = "step", .steps_done = done});
  const absl::StatusOr<Settled> state = device.State();
  if (state.ok()) {
    listener.OnSettled(*state);
    // After the daemon has read the context, which this may add to.
    report.memory_speed = device.ReadSpeed();
  } else {
    ReportFailure(
        {.end = EndKind::kModelFailed,
         .end_class = EndClass::kDeviceAssert,
         .field = "",
         .message = TrimmedMessage(std::string(state.status().message()))},
        report);
  }
  return report;
}

}  // namespace memplan::gpu
