#include "server/jobs/probe_execution.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

constexpr std::string_view kCpuDevice = "cpu";

ProbeEnding Cancelled() { return {ProbeState::kCancelled, {}, {}}; }

ProbeEnding Failed(ProbeError error) {
  return {ProbeState::kFailed, {}, std::move(error)};
}

ProbeEnding Refused(const RequestRefused& refused) {
  return Failed({absl::StatusCode::kInvalidArgument, "REQUEST_REFUSED_BY_MODEL",
                 refused.message, absl::StrCat("spec.", refused.field)});
}

// Why a search in which no batch ran has no answer.
ProbeEnding NoAnswer(const SearchAnswer& answer,
                     const std::vector<Trial>& trials) {
  const auto last =
      std::find_if(trials.rbegin(), trials.rend(), [](const Trial& trial) {
        return trial.outcome != TrialOutcome::kFits &&
               trial.outcome != TrialOutcome::kOutOfMemory;
      });
  const auto error = [&answer](absl::StatusCode code, std::string reason,
                               std::string_view next_step) {
    return Failed({code, std::move(reason),
                   absl::StrCat(answer.message, "; ", std::string(next_step)),
                   ""});
  };
  if (last == trials.rend()) {
    return error(absl::StatusCode::kAborted, "SEARCH_NOT_SETTLED",
                 "the same batch did not always end the same way: see that "
                 "nothing else uses the device and try again");
  }
  switch (last->outcome) {
    case TrialOutcome::kTimedOut:
      return error(absl::StatusCode::kDeadlineExceeded, "TRIAL_TIMED_OUT",
                   "give trials more time, or fewer steps");
    case TrialOutcome::kWorkerDied:
      return error(absl::StatusCode::kInternal, "WORKER_DIED",
                   "see whether the host ran out of memory, and the daemon's "
                   "log");
    case TrialOutcome::kSandboxRefused:
      return error(absl::StatusCode::kFailedPrecondition, "SANDBOX_REFUSED",
                   "a model may read its own file and write to its TMPDIR; see "
                   "what in its code reaches further");
    default:
      return error(absl::StatusCode::kFailedPrecondition, "MODEL_FAILED",
                   "see that the inputs are those the model expects, and that "
                   "it runs by itself");
  }
}

// The batch that the task would run first, so that a model which refuses smaller
// ones is not asked for them.
int64_t CalibratingBatch(const ProbeSpec& spec) {
  if (const auto* profile = std::get_if<ProfileTask>(&spec.task)) {
    return profile->batches.front();
  }
  const auto& search = std::get<SearchOptions>(spec.task);
  return std::min(search.first_batch, search.max_batch);
}

class Execution {
 public:
  Execution(const ProbeSpec& spec, const ExecutionTools& tools)
      : spec_(spec), tools_(tools) {}

  ProbeEnding Run() {
    if (spec_.limit.budget && !on_cpu()) {
      const RunBatch run{CalibratingBatch(spec_), TrialPurpose::kCalibrate};
      if (auto ending = RunTrial(run)) return *ending;
    }
    if (const auto* profile = std::get_if<ProfileTask>(&spec_.task)) {
      return RunProfile(*profile);
    }
    return RunSearch(std::get<SearchOptions>(spec_.task));
  }

 private:
  bool on_cpu() const { return spec_.device_id == kCpuDevice; }

  ProbeEnding RunProfile(const ProfileTask& profile) {
    for (const int64_t batch : profile.batches) {
      const RunBatch run{batch, TrialPurpose::kProfile};
      if (auto ending = RunTrial(run)) return *ending;
      if (trials_.back().outcome != TrialOutcome::kWorkerDied) continue;
      if (auto ending = RunTrial(run)) return *ending;
    }
    return {ProbeState::kSucceeded, {}, {}};
  }

  ProbeEnding RunSearch(const SearchOptions& options) {
    while (true) {
      const SearchDecision decision = DecideNext(options, trials_);
      if (const auto* run = std::get_if<RunBatch>(&decision)) {
        if (auto ending = RunTrial(*run)) return *ending;
        continue;
      }
      const auto& answer = std::get<SearchAnswer>(decision);
      if (answer.end == SearchEnd::kFailed) return NoAnswer(answer, trials_);
      return {ProbeState::kSucceeded, MakePlan(answer, trials_), {}};
    }
  }

  // Runs one trial and keeps it. Returns the probe's ending if there is no
  // going on.
  std::optional<ProbeEnding> RunTrial(const RunBatch& run) {
    if (tools_.cancel.cancelled()) return Cancelled();
    const TrialOrder order = Order(run);
    ProbeProgress progress = FirstProgress(run);
    tools_.on_progress(progress);
    auto result = tools_.runner.Run(
        order, tools_.cancel, [&](const gpu::Progress& worker) {
          progress.phase = worker.phase;
          progress.steps_done = std::clamp(worker.steps_done, 0, spec_.steps);
          tools_.on_progress(progress);
        });
    if (absl::IsCancelled(result.status())) return Cancelled();
    if (!result.ok()) return Failed(ToProbeError(result.status()));
    if (result->refused) return Refused(*result->refused);
    trials_.push_back(JudgedByBudget(std::move(result->trial), spec_.limit));
    tools_.on_trial(trials_.back());
    return std::nullopt;
  }

  TrialOrder Order(const RunBatch& run) const {
    TrialOrder order;
    order.request.model_path = tools_.model_path;
    order.request.device =
        on_cpu() ? gpu::DeviceKind::kCpu : gpu::DeviceKind::kCuda;
    order.request.inputs = spec_.inputs;
    order.request.dimensions = spec_.dimensions;
    order.request.batch = run.batch;
    order.request.mode = spec_.mode;
    order.request.optimizer = spec_.optimizer;
    order.request.run_as = spec_.run_as;
    order.request.steps = spec_.steps;
    order.request.cap = CapForNextTrial(spec_.limit, trials_);
    order.device_id = spec_.device_id;
    order.purpose = run.purpose;
    order.timeout = spec_.trial_timeout;
    order.trace_path = tools_.trace_path(next_number());
    return order;
  }

  ProbeProgress FirstProgress(const RunBatch& run) const {
    ProbeProgress progress;
    progress.trial_number = next_number();
    progress.batch = run.batch;
    progress.purpose = run.purpose;
    progress.phase = "start";
    progress.steps_total = spec_.steps;
    for (const Trial& trial : trials_) {
      if (trial.outcome == TrialOutcome::kFits) {
        progress.largest_running_batch =
            std::max(progress.largest_running_batch, trial.batch);
      } else if (progress.smallest_failing_batch == 0 ||
                 trial.batch < progress.smallest_failing_batch) {
        progress.smallest_failing_batch = trial.batch;
      }
    }
    return progress;
  }

  int next_number() const { return static_cast<int>(trials_.size()) + 1; }

  const ProbeSpec& spec_;
  const ExecutionTools& tools_;
  std::vector<Trial> trials_;
};

}  // namespace

ProbeEnding ExecuteProbe(const ProbeSpec& spec, const ExecutionTools& tools) {
  return Execution(spec, tools).Run();
}

ProbeError ToProbeError(const absl::Status& status) {
  std::string reason = ReasonOf(status);
  if (reason.empty()) reason = "INTERNAL_ERROR";
  return {status.code(), std::move(reason), std::string(status.message()),
          FieldOf(status)};
}

}  // namespace memplan
