// What the execution of a probe works with, and how it can end.
#ifndef MEMPLAN_SERVER_JOBS_EXECUTION_TOOLS_H_
#define MEMPLAN_SERVER_JOBS_EXECUTION_TOOLS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/base/bytes.h"
#include "planner/trace/trace.h"
#include "server/jobs/device_room.h"
#include "server/jobs/dismissals.h"
#include "server/jobs/earlier_recordings.h"
#include "server/jobs/trial_runner.h"
#include "server/jobs/worker_patience.h"
#include "server/probe/probe.h"
#include "server/store/call_results.h"

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

// Why a search goes on by bisection although a prediction was tried, for the
// metrics; the words are in the plan.
enum class FallBackKind {
  kOtherFailure,  // a trial failed for another reason than memory
  kNotRecorded,   // no two batches ran and left a trace
  kNotPredicted,  // the recordings do not go together
  kNotVerified,   // runs do not end as predicted
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
  // Reads a trace that a trial left; empty: nothing is predicted.
  std::function<absl::StatusOr<Trace>(const std::string& path)> read_trace = {};
  std::function<std::vector<EarlierRecording>()> earlier_recordings = {};
  CallResults* call_results = nullptr;  // null: none are kept
  // What the device has left, as far as it is known.
  std::optional<Bytes> device_free = {};
  // What others leave of the device (RoomBesideOthers), read now. Empty: nobody
  // watches them.
  std::function<std::optional<Bytes>(OwnWorkers)> room = {};
  // How many workers may each take what the limit of the spec allows at one time:
  // nobody else was promised that.
  int workers_at_once = 1;
  // Where workers end that have no order left; it waits for them after the
  // execution has told its answer. Null: the execution waits.
  Dismissals* dismissals = nullptr;
  // Predictions do not hold: bisection goes on.
  std::function<void(FallBackKind kind)> on_fall_back = {};
  std::function<std::chrono::steady_clock::time_point()> now =
      std::chrono::steady_clock::now;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_EXECUTION_TOOLS_H_
