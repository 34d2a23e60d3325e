// Runs one probe from its first trial to its end: names the next batch by the
// planner's rules, has it run, and tells what came of it. Knows no queue and no
// store.
#ifndef MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_
#define MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/jobs/trial_runner.h"
#include "server/jobs/worker_patience.h"
#include "server/probe/probe.h"

namespace memplan {

// How a probe ended: kSucceeded, with a plan if it was a search; kFailed, with
// the error; or kCancelled.
struct ProbeEnding {
  ProbeState state = ProbeState::kFailed;
  std::optional<Plan> plan;
  std::optional<ProbeError> error;
};

// What is known before the execution begins, of an earlier one.
struct KnownTrials {
  std::vector<Trial> trials;
  std::string worker_version;  // of the workers that ran them
};

// What the execution works with. All of it must outlive the call; the functions
// are called on its thread, and those that are not said to be needed may be
// empty.
struct ExecutionTools {
  TrialRunner& runner;
  CancelSignal& cancel;
  std::string model_path;
  // Of the loss program; empty for none.
  std::string loss_path = {};
  // Where the trace of trial `number` (from 1) goes; empty to drop it.
  std::function<std::string(int number)> trace_path;
  std::function<void(const ProbeProgress&)> on_progress;
  // It has ended, and was run by a worker of this version.
  std::function<void(const Trial&, const std::string& version)> on_trial;
  KnownTrials known = {};
  // False: no further trial is to start.
  std::function<bool()> may_go_on = {};
  // Waits; false if the execution is not to go on after all.
  std::function<bool(std::chrono::milliseconds)> pause = {};
  // The known trials are dropped, for this reason.
  std::function<void(std::string why)> on_begin_anew = {};
  WorkerPatience patience = {};
  WorkerStarts* starts = nullptr;  // told of every worker's start
  std::function<std::chrono::steady_clock::time_point()> now =
      std::chrono::steady_clock::now;
};

// A search asks DecideNext for each batch until it has the answer. A profile
// runs its batches in order, each once, and once more if its worker died. With a
// budget on a GPU, both begin with a trial that shows the context. The trials
// known before count as if run now, unless a worker of another version comes:
// then all begins anew.
//
// Ends with kFailed and what it has learned so far where the spec's time or
// trials are used up (PROBE_TIME_LIMIT, PROBE_TRIAL_LIMIT) or workers keep dying
// (WORKER_KEEPS_DYING). Ends with kCancelled if `cancel` is given or it may not
// go on. Blocks until then.
ProbeEnding ExecuteProbe(const ProbeSpec& spec, const ExecutionTools& tools);

// The error of a probe that failed with `status`.
ProbeError ToProbeError(const absl::Status& status);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROBE_EXECUTION_H_
