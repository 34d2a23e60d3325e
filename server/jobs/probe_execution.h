// Runs one probe from its first trial to its end: names the next batch by the
// planner's rules, has it run, and tells what came of it. Knows no queue and no
// store.
#ifndef MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_
#define MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_

#include <functional>
#include <optional>
#include <string>

#include "server/jobs/trial_runner.h"
#include "server/probe/probe.h"

namespace memplan {

// How a probe ended: kSucceeded, with a plan if it was a search; kFailed, with
// the error; or kCancelled.
struct ProbeEnding {
  ProbeState state = ProbeState::kFailed;
  std::optional<Plan> plan;
  std::optional<ProbeError> error;
};

// What the execution works with. All of it must outlive the call; the functions
// are called on its thread.
struct ExecutionTools {
  TrialRunner& runner;
  CancelSignal& cancel;
  std::string model_path;
  // Where the trace of trial `number` (from 1) goes; empty to drop it.
  std::function<std::string(int number)> trace_path;
  std::function<void(const ProbeProgress&)> on_progress;
  std::function<void(const Trial&)> on_trial;  // it has ended
};

// A search asks DecideNext for each batch until it has the answer. A profile
// runs its batches in order, each once, and once more if its worker died. With a
// budget on a GPU, both begin with a trial of batch 1 that shows the context.
// Blocks until the probe has ended or `cancel` is given.
ProbeEnding ExecuteProbe(const ProbeSpec& spec, const ExecutionTools& tools);

// The error of a probe that failed with `status`.
ProbeError ToProbeError(const absl::Status& status);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_
