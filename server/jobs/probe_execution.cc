#include "server/jobs/probe_execution.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/log.h"
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

// The next batch of a profile after `trials`, the first of which may have been
// run to show the context; nothing if all have been run.
std::optional<RunBatch> NextInProfile(const ProfileTask& profile,
                                      std::span<const Trial> trials) {
  if (!trials.empty() && trials.front().purpose == TrialPurpose::kCalibrate) {
    trials = trials.subspan(1);
  }
  for (const int64_t batch : profile.batches) {
    const RunBatch run{batch, TrialPurpose::kProfile};
    if (trials.empty()) return run;
    const bool died = trials.front().outcome == TrialOutcome::kWorkerDied;
    trials = trials.subspan(1);
    if (!died) continue;
    if (trials.empty()) return run;
    trials = trials.subspan(1);
  }
  return std::nullopt;
}

// `batch 16 runs, batch 32 fails`.
std::string KnownWords(std::span<const Trial> trials) {
  const KnownBatches known = BatchesKnownFrom(trials);
  std::string words = absl::StrCat("of ", trials.size(), " trials");
  absl::StrAppend(&words, ", ",
                  known.largest_running == 0
                      ? "none ran"
                      : absl::StrCat("the largest batch that ran is ",
                                     known.largest_running));
  if (known.smallest_failing != 0) {
    absl::StrAppend(&words, ", the smallest that failed ",
                    known.smallest_failing);
  }
  return words;
}

class Execution {
 public:
  Execution(const ProbeSpec& spec, const ExecutionTools& tools)
      : spec_(spec),
        tools_(tools),
        trials_(tools.known.trials),
        version_(tools.known.worker_version),
        begun_(tools.now()) {
    for (const Trial& trial : trials_) seconds_before_ += trial.seconds;
  }

  ProbeEnding Run() {
    while (true) {
      const std::variant<RunBatch, ProbeEnding> next = Next();
      if (const auto* ending = std::get_if<ProbeEnding>(&next)) return *ending;
      if (auto ending = Try(std::get<RunBatch>(next))) return *ending;
    }
  }

 private:
  bool on_cpu() const { return spec_.device_id == kCpuDevice; }

  std::variant<RunBatch, ProbeEnding> Next() const {
    if (spec_.limit.budget && !on_cpu() && trials_.empty()) {
      return RunBatch{CalibratingBatch(spec_), TrialPurpose::kCalibrate};
    }
    if (const auto* profile = std::get_if<ProfileTask>(&spec_.task)) {
      if (const auto run = NextInProfile(*profile, trials_)) return *run;
      return ProbeEnding{ProbeState::kSucceeded, {}, {}};
    }
    const SearchDecision decision =
        DecideNext(std::get<SearchOptions>(spec_.task), trials_);
    if (const auto* run = std::get_if<RunBatch>(&decision)) return *run;
    const auto& answer = std::get<SearchAnswer>(decision);
    if (answer.end == SearchEnd::kFailed) return NoAnswer(answer, trials_);
    return ProbeEnding{ProbeState::kSucceeded, MakePlan(answer, trials_), {}};
  }

  // Runs one trial and keeps it. Returns the probe's ending if there is no
  // going on.
  std::optional<ProbeEnding> Try(const RunBatch& run) {
    if (auto ending = WaitAfterDeaths()) return ending;
    if (!MayGoOn()) return Cancelled();
    if (auto ending = EndAtLimit()) return ending;
    const TrialOrder order = Order(run);
    absl::StatusOr<TrialResult> result = RunTrial(order);
    if (absl::IsCancelled(result.status())) return Cancelled();
    Tell(result);
    if (!result.ok()) return Failed(ToProbeError(result.status()));
    if (result->refused) return Refused(*result->refused);
    if (BeginsAnew(result->worker_version)) return std::nullopt;
    Trial& trial = result->trial;
    if (trial.outcome == TrialOutcome::kTimedOut &&
        order.timeout < spec_.trial_timeout) {
      return EndByTime();
    }
    trials_.push_back(JudgedByBudget(std::move(trial), spec_.limit));
    tools_.on_trial(trials_.back(), version_);
    return EndIfWorkersCannotStart();
  }

  absl::StatusOr<TrialResult> RunTrial(const TrialOrder& order) const {
    ProbeProgress progress = FirstProgress(order);
    const LogContext log({{"trial", absl::StrCat(progress.trial_number)},
                          {"batch", absl::StrCat(progress.batch)}});
    tools_.on_progress(progress);
    return tools_.runner.Run(
        order, tools_.cancel, [&](const gpu::Progress& worker) {
          progress.phase = worker.phase;
          progress.steps_done = std::clamp(worker.steps_done, 0, spec_.steps);
          tools_.on_progress(progress);
        });
  }

  bool MayGoOn() const {
    return !tools_.cancel.cancelled() &&
           (!tools_.may_go_on || tools_.may_go_on());
  }

  // Says whether the worker could be started.
  void Tell(const absl::StatusOr<TrialResult>& result) const {
    if (tools_.starts == nullptr) return;
    if (ReasonOf(result.status()) == "SCRIPTED_DEVICE") return;  // it could
    if (result.ok() && !result->never_started) {
      tools_.starts->Succeeded();
    } else {
      tools_.starts->Failed(result.ok()
                                ? result->trial.message
                                : std::string(result.status().message()),
                            tools_.now());
    }
  }

  // Takes note of the worker's version. True if the trials so far are another's
  // and have been dropped, this one with them.
  bool BeginsAnew(const std::string& version) {
    if (version.empty() || version == version_) return false;
    const std::string before = std::exchange(version_, version);
    if (before.empty() || trials_.empty()) return false;
    trials_.clear();
    if (tools_.on_begin_anew) {
      tools_.on_begin_anew(absl::StrCat("the worker has libtorch ", version,
                                        " now; the trials were run with ",
                                        before));
    }
    return true;
  }

  std::optional<ProbeEnding> WaitAfterDeaths() const {
    const int deaths = DeathsInARow(trials_);
    if (deaths >= tools_.patience.most_deaths) {
      return Failed(
          {absl::StatusCode::kAborted, "WORKER_KEEPS_DYING",
           absl::StrCat(deaths, " workers in a row died, the last one so: ",
                        trials_.back().message, "; ", KnownWords(trials_),
                        "; see whether the host ran out of memory, and the "
                        "daemon's log"),
           ""});
    }
    auto pause = PauseAfter(deaths, tools_.patience);
    if (const auto left = TimeLeft()) pause = std::min(pause, *left);
    if (pause.count() <= 0 || !tools_.pause || tools_.pause(pause)) {
      return std::nullopt;
    }
    return Cancelled();
  }

  std::optional<ProbeEnding> EndIfWorkersCannotStart() const {
    if (tools_.starts == nullptr) return std::nullopt;
    const auto why = tools_.starts->WhyResting(tools_.now());
    if (!why) return std::nullopt;
    return Failed(
        {absl::StatusCode::kAborted, "WORKER_KEEPS_DYING",
         absl::StrCat(*why, "; ", KnownWords(trials_),
                      "; run the worker by hand, and see the daemon's "
                      "log"),
         ""});
  }

  // Unset without a limit.
  std::optional<std::chrono::milliseconds> TimeLeft() const {
    if (!spec_.time_limit) return std::nullopt;
    const std::chrono::duration<double> used =
        tools_.now() - begun_ + std::chrono::duration<double>(seconds_before_);
    return std::chrono::floor<std::chrono::milliseconds>(*spec_.time_limit -
                                                         used);
  }

  std::optional<ProbeEnding> EndAtLimit() const {
    const auto left = TimeLeft();
    if (left && left->count() <= 0) return EndByTime();
    const auto most = static_cast<size_t>(spec_.max_trials);
    if (most == 0 || trials_.size() < most) return std::nullopt;
    return Failed({absl::StatusCode::kResourceExhausted, "PROBE_TRIAL_LIMIT",
                   absl::StrCat("the probe's limit of ", most,
                                " trials is reached without an answer; ",
                                KnownWords(trials_), "; allow more trials"),
                   ""});
  }

  ProbeEnding EndByTime() const {
    const std::chrono::duration<double> limit =
        spec_.time_limit.value_or(std::chrono::milliseconds(0));
    return Failed({absl::StatusCode::kDeadlineExceeded, "PROBE_TIME_LIMIT",
                   absl::StrCat("the probe's time limit of ", limit.count(),
                                " s is reached without an answer; ",
                                KnownWords(trials_), "; allow more time"),
                   ""});
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
    order.request.options = spec_.step;
    order.request.loss_path = tools_.loss_path;
    order.request.cap = CapForNextTrial(spec_.limit, trials_);
    order.device_id = spec_.device_id;
    order.purpose = run.purpose;
    order.timeout = spec_.trial_timeout;
    if (const auto left = TimeLeft()) {
      order.timeout = std::min(order.timeout, *left);
    }
    order.niceness = spec_.niceness;
    order.trace_path = tools_.trace_path(next_number());
    return order;
  }

  ProbeProgress FirstProgress(const TrialOrder& order) const {
    const KnownBatches known = BatchesKnownFrom(trials_);
    ProbeProgress progress;
    progress.trial_number = next_number();
    progress.batch = order.request.batch;
    progress.purpose = order.purpose;
    progress.phase = "start";
    progress.steps_total = spec_.steps + gpu::FurtherSteps(spec_.step);
    progress.largest_running_batch = known.largest_running;
    progress.smallest_failing_batch = known.smallest_failing;
    return progress;
  }

  int next_number() const { return static_cast<int>(trials_.size()) + 1; }

  const ProbeSpec& spec_;
  const ExecutionTools& tools_;
  std::vector<Trial> trials_;
  std::string version_;  // of the workers that ran them
  const std::chrono::steady_clock::time_point begun_;
  double seconds_before_ = 0;  // of the trials known before
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
