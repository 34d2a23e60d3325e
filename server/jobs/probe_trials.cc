#include "server/jobs/probe_trials.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/budget.h"
#include "server/base/log.h"
#include "server/base/reason.h"
#include "server/jobs/device_room.h"

namespace memplan {
namespace {

constexpr std::string_view kCpuDevice = "cpu";

ProbeEnding Refused(const RequestRefused& refused) {
  return FailedEnding({absl::StatusCode::kInvalidArgument,
                       "REQUEST_REFUSED_BY_MODEL", refused.message,
                       absl::StrCat("spec.", refused.field)});
}

}  // namespace

ProbeEnding CancelledEnding() { return {ProbeState::kCancelled, {}, {}}; }

ProbeEnding FailedEnding(ProbeError error) {
  return {ProbeState::kFailed, {}, std::move(error)};
}

ProbeError ToProbeError(const absl::Status& status) {
  std::string reason = ReasonOf(status);
  if (reason.empty()) reason = "INTERNAL_ERROR";
  return {status.code(), std::move(reason), std::string(status.message()),
          FieldOf(status)};
}

ProbeTrials::ProbeTrials(const ProbeSpec& spec, const ExecutionTools& tools)
    : spec_(spec),
      tools_(tools),
      trials_(tools.known.trials),
      version_(tools.known.worker_version),
      begun_(tools.now()) {
  for (const Trial& trial : trials_) seconds_before_ += trial.seconds;
}

std::string ProbeTrials::KnownWords() const {
  const KnownBatches known = BatchesKnownFrom(trials_);
  std::string words = absl::StrCat("of ", trials_.size(), " trials");
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

bool ProbeTrials::on_cpu() const { return spec_.device_id == kCpuDevice; }

std::optional<ProbeEnding> ProbeTrials::Try(const RunBatch& run, HowToRun how,
                                            OwnWorkers own) {
  own_ = own;
  if (auto ending = WaitAfterDeaths()) return ending;
  if (!MayGoOn()) return CancelledEnding();
  if (auto ending = EndAtLimit()) return ending;
  TrialOrder order = Order(run);
  ProbeProgress progress = FirstProgress(run);
  const LogContext log({{"trial", absl::StrCat(progress.trial_number)},
                        {"batch", absl::StrCat(progress.batch)}});
  tools_.on_progress(progress);
  absl::StatusOr<TrialResult> result =
      RunUndisturbed(order, how, [&](const gpu::Progress& worker) {
        progress.phase = worker.phase;
        progress.steps_done =
            std::clamp(worker.steps_done, 0, progress.steps_total);
        tools_.on_progress(progress);
      });
  if (absl::IsCancelled(result.status())) return CancelledEnding();
  Tell(result);
  if (!result.ok()) return FailedEnding(ToProbeError(result.status()));
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

absl::StatusOr<TrialResult> ProbeTrials::RunUndisturbed(
    TrialOrder& order, HowToRun how,
    const OnWorkerProgress& on_progress) const {
  std::optional<RoomAround> moved;
  absl::StatusOr<TrialResult> first =
      RunWatched(order, how, on_progress, moved);
  if (!moved) return first;
  if (!MayGoOn()) return absl::CancelledError("the trial is not repeated");
  spdlog::warn("{}; it is repeated", MovedWords(*moved, spec_.device_id));
  order.timeout = Timeout();
  absl::StatusOr<TrialResult> second =
      RunWatched(order, how, on_progress, moved);
  if (second.ok() && moved) {
    TellMoved(*moved, spec_.device_id, first->trial, second->trial);
    spdlog::warn("{}, and did so when it was first run",
                 MovedWords(*moved, spec_.device_id));
  }
  return second;
}

absl::StatusOr<TrialResult> ProbeTrials::RunWatched(
    const TrialOrder& order, HowToRun how, const OnWorkerProgress& on_progress,
    std::optional<RoomAround>& moved) const {
  moved.reset();
  const std::optional<Bytes> before = Room();
  absl::StatusOr<TrialResult> result = how(order, on_progress);
  if (!before || !result.ok() || !DependsOnOthers(result->trial)) return result;
  const std::optional<Bytes> after = Room();
  if (!after) return result;
  // A second worker may wait beside it.
  std::optional<Bytes> needed = order.request.cap;
  if (needed) *needed += std::max(LargestContext(), kExpectedContext) * 2;
  const RoomAround room = {*before, *after};
  if (MayBeTheirs(result->trial, room, needed)) moved = room;
  return result;
}

std::optional<Bytes> ProbeTrials::Room() const {
  if (on_cpu() || !tools_.room) return std::nullopt;
  return tools_.room(own_);
}

bool ProbeTrials::MayGoOn() const {
  return !tools_.cancel.cancelled() &&
         (!tools_.may_go_on || tools_.may_go_on());
}

void ProbeTrials::Tell(const absl::StatusOr<TrialResult>& result) const {
  if (tools_.starts == nullptr) return;
  if (ReasonOf(result.status()) == "SCRIPTED_DEVICE") return;  // it could
  if (result.ok() && !result->never_started) {
    tools_.starts->Succeeded();
  } else {
    tools_.starts->Failed(result.ok() ? result->trial.message
                                      : std::string(result.status().message()),
                          tools_.now());
  }
}

// Takes note of the worker's version. True if the trials so far are another's
// and have been dropped, this one with them.
bool ProbeTrials::BeginsAnew(const std::string& version) {
  if (version.empty() || version == version_) return false;
  const std::string before = std::exchange(version_, version);
  if (before.empty() || trials_.empty()) return false;
  trials_.clear();
  ++begun_anew_;
  if (tools_.on_begin_anew) {
    tools_.on_begin_anew(absl::StrCat("the worker has libtorch ", version,
                                      " now; the trials were run with ",
                                      before));
  }
  return true;
}

std::optional<ProbeEnding> ProbeTrials::WaitAfterDeaths() const {
  const int deaths = DeathsInARow(trials_);
  if (deaths >= tools_.patience.most_deaths) {
    return FailedEnding(
        {absl::StatusCode::kAborted, "WORKER_KEEPS_DYING",
         absl::StrCat(deaths, " workers in a row died, the last one so: ",
                      trials_.back().message, "; ", KnownWords(),
                      "; see whether the host ran out of memory, and the "
                      "daemon's log"),
         ""});
  }
  auto pause = PauseAfter(deaths, tools_.patience);
  if (const auto left = TimeLeft()) pause = std::min(pause, *left);
  if (pause.count() <= 0 || !tools_.pause || tools_.pause(pause)) {
    return std::nullopt;
  }
  return CancelledEnding();
}

std::optional<ProbeEnding> ProbeTrials::EndIfWorkersCannotStart() const {
  if (tools_.starts == nullptr) return std::nullopt;
  const auto why = tools_.starts->WhyResting(tools_.now());
  if (!why) return std::nullopt;
  return FailedEnding(
      {absl::StatusCode::kAborted, "WORKER_KEEPS_DYING",
       absl::StrCat(*why, "; ", KnownWords(),
                    "; run the worker by hand, and see the daemon's "
                    "log"),
       ""});
}

std::optional<std::chrono::milliseconds> ProbeTrials::TimeLeft() const {
  if (!spec_.time_limit) return std::nullopt;
  const std::chrono::duration<double> used =
      tools_.now() - begun_ + std::chrono::duration<double>(seconds_before_);
  return std::chrono::floor<std::chrono::milliseconds>(*spec_.time_limit -
                                                       used);
}

std::optional<ProbeEnding> ProbeTrials::EndAtLimit() const {
  const auto left = TimeLeft();
  if (left && left->count() <= 0) return EndByTime();
  const auto most = static_cast<size_t>(spec_.max_trials);
  if (most == 0 || trials_.size() < most) return std::nullopt;
  return FailedEnding({absl::StatusCode::kResourceExhausted,
                       "PROBE_TRIAL_LIMIT",
                       absl::StrCat("the probe's limit of ", most,
                                    " trials is reached without an answer; ",
                                    KnownWords(), "; allow more trials"),
                       ""});
}

ProbeEnding ProbeTrials::EndByTime() const {
  const std::chrono::duration<double> limit =
      spec_.time_limit.value_or(std::chrono::milliseconds(0));
  return FailedEnding({absl::StatusCode::kDeadlineExceeded, "PROBE_TIME_LIMIT",
                       absl::StrCat("the probe's time limit of ", limit.count(),
                                    " s is reached without an answer; ",
                                    KnownWords(), "; allow more time"),
                       ""});
}

Bytes ProbeTrials::LargestContext() const {
  Bytes largest = expected_context_;
  for (const Trial& trial : trials_) {
    largest = std::max(largest, trial.context.value_or(Bytes(0)));
  }
  return largest;
}

std::optional<Bytes> ProbeTrials::Cap() const {
  if (!spec_.limit.budget || on_cpu()) {
    return CapForNextTrial(spec_.limit, trials_);
  }
  return std::max(Bytes(0), *spec_.limit.budget - LargestContext());
}

TrialOrder ProbeTrials::Order(const RunBatch& run) const {
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
  order.request.cap = Cap();
  order.device_id = spec_.device_id;
  order.purpose = run.purpose;
  order.timeout = Timeout();
  order.niceness = spec_.niceness;
  order.trace_path = tools_.trace_path(next_number());
  return order;
}

std::chrono::milliseconds ProbeTrials::Timeout() const {
  const auto left = TimeLeft();
  return left ? std::min(spec_.trial_timeout, *left) : spec_.trial_timeout;
}

ProbeProgress ProbeTrials::FirstProgress(const RunBatch& run) const {
  const KnownBatches known = BatchesKnownFrom(trials_);
  ProbeProgress progress;
  progress.trial_number = next_number();
  progress.batch = run.batch;
  progress.purpose = run.purpose;
  progress.phase = "start";
  progress.steps_total = spec_.steps + gpu::FurtherSteps(spec_.step);
  progress.largest_running_batch = known.largest_running;
  progress.smallest_failing_batch = known.smallest_failing;
  return progress;
}

}  // namespace memplan
