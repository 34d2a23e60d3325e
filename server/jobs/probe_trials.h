// The trials of one probe, and what holds for each of them however its batch was
// chosen: limits of time and number, deaths and the pauses after them, cancel,
// the worker's version, the budget.
#ifndef MEMPLAN_SERVER_JOBS_PROBE_TRIALS_H_
#define MEMPLAN_SERVER_JOBS_PROBE_TRIALS_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "planner/base/bytes.h"
#include "planner/plan/batch_search.h"
#include "server/jobs/execution_tools.h"
#include "server/jobs/moved_memory.h"
#include "server/probe/probe.h"

namespace memplan {

ProbeEnding CancelledEnding();
ProbeEnding FailedEnding(ProbeError error);

// The error of a probe that failed with `status`.
ProbeError ToProbeError(const absl::Status& status);

// Not thread-safe. Spec and tools outlive it.
class ProbeTrials {
 public:
  // Has a trial run and tells what came of it; asked again, in a process that has
  // run nothing else.
  using HowToRun = absl::FunctionRef<absl::StatusOr<TrialResult>(
      const TrialOrder&, const OnWorkerProgress&)>;

  ProbeTrials(const ProbeSpec& spec, const ExecutionTools& tools);

  // Those known before and those run since, in order.
  const std::vector<Trial>& trials() const { return trials_; }
  // How often trials of another worker's version were dropped.
  int begun_anew() const { return begun_anew_; }
  // `of 7 trials, the largest batch that ran is 16, the smallest that failed 32`.
  std::string KnownWords() const;
  bool on_cpu() const;
  bool MayGoOn() const;

  // What an earlier probe's workers held outside their allocators: it counts
  // until a trial has shown more. 0: nothing is known.
  void ExpectContext(Bytes context) { expected_context_ = context; }
  // The largest that is known; 0: none is.
  Bytes LargestContext() const;
  // The cap of the next trial; unset without a limit.
  std::optional<Bytes> Cap() const;

  // What a trial of `run` orders now.
  TrialOrder Order(const RunBatch& run) const;
  // The longest that one order may take now.
  std::chrono::milliseconds Timeout() const;
  // Of the next trial, before its worker has said anything.
  ProbeProgress FirstProgress(const RunBatch& run) const;

  // Runs one trial by `how` and keeps it; none is kept if all begin anew.
  // Returns the probe's ending if there is no going on.
  // `own` says whether workers are on the device before or after it.
  std::optional<ProbeEnding> Try(const RunBatch& run, HowToRun how,
                                 OwnWorkers own = OwnWorkers::kNone);
  // Says whether a worker could be started; Try does so by itself.
  void Tell(const absl::StatusOr<TrialResult>& result) const;

 private:
  // Runs it, and once more if others may have decided how it ended.
  absl::StatusOr<TrialResult> RunUndisturbed(
      TrialOrder& order, HowToRun how,
      const OnWorkerProgress& on_progress) const;
  // `moved` is set if they may have.
  absl::StatusOr<TrialResult> RunWatched(
      const TrialOrder& order, HowToRun how,
      const OnWorkerProgress& on_progress,
      std::optional<RoomAround>& moved) const;
  std::optional<Bytes> Room() const;
  bool BeginsAnew(const std::string& version);
  std::optional<ProbeEnding> WaitAfterDeaths() const;
  std::optional<ProbeEnding> EndIfWorkersCannotStart() const;
  std::optional<ProbeEnding> EndAtLimit() const;
  ProbeEnding EndByTime() const;
  // Unset without a limit.
  std::optional<std::chrono::milliseconds> TimeLeft() const;
  int next_number() const { return static_cast<int>(trials_.size()) + 1; }

  const ProbeSpec& spec_;
  const ExecutionTools& tools_;
  std::vector<Trial> trials_;
  std::string version_;  // of the workers that ran them
  const std::chrono::steady_clock::time_point begun_;
  double seconds_before_ = 0;  // of the trials known before
  int begun_anew_ = 0;
  Bytes expected_context_;
  OwnWorkers own_ = OwnWorkers::kNone;  // of the present trial
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROBE_TRIALS_H_
