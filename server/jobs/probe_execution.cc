#include "server/jobs/probe_execution.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/jobs/fast_execution.h"
#include "server/jobs/probe_trials.h"

namespace memplan {
namespace {

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
    return FailedEnding(
        {code, std::move(reason),
         absl::StrCat(answer.message, "; ", std::string(next_step)), ""});
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

class Execution {
 public:
  Execution(const ProbeSpec& spec, const ExecutionTools& tools)
      : spec_(spec), tools_(tools), trials_(spec, tools) {}

  ProbeEnding Run() {
    if (IsPredicted(spec_, tools_, trials())) {
      if (auto ending = RunFast()) return *std::move(ending);
    }
    while (true) {
      const std::variant<RunBatch, ProbeEnding> next = Next();
      if (const auto* ending = std::get_if<ProbeEnding>(&next)) return *ending;
      if (auto ending = Try(std::get<RunBatch>(next))) return *ending;
    }
  }

 private:
  const std::vector<Trial>& trials() const { return trials_.trials(); }

  // Nothing if bisection is to go on.
  std::optional<ProbeEnding> RunFast() {
    auto end = ExecuteFastSearch(spec_, tools_, trials_);
    if (auto* ending = std::get_if<ProbeEnding>(&end))
      return std::move(*ending);
    if (const auto* found = std::get_if<FastAnswer>(&end)) {
      return Ending(found->answer, found->predicted);
    }
    const std::string& why = std::get<FallBack>(end).reason;
    fall_back_reason_ = why;
    if (tools_.on_fall_back) tools_.on_fall_back(KindOfFallBack(trials()));
    if (spec_.method != SearchMethod::kPredict) return std::nullopt;
    return FailedEnding(
        {absl::StatusCode::kAborted, "PREDICTION_DOES_NOT_HOLD",
         absl::StrCat("the answer could not be predicted: ", why, "; ",
                      trials_.KnownWords(),
                      "; search with the method `auto`, which bisects then"),
         ""});
  }

  ProbeEnding Ending(const SearchAnswer& answer,
                     std::optional<PredictedAnswer> predicted) const {
    if (answer.end == SearchEnd::kFailed) return NoAnswer(answer, trials());
    Plan plan = MakePlan(answer, trials(), std::move(predicted));
    plan.fall_back_reason = fall_back_reason_;
    return {ProbeState::kSucceeded, std::move(plan), {}};
  }

  std::variant<RunBatch, ProbeEnding> Next() const {
    if (spec_.limit.budget && !trials_.on_cpu() && trials().empty()) {
      return RunBatch{CalibratingBatch(spec_), TrialPurpose::kCalibrate};
    }
    if (const auto* profile = std::get_if<ProfileTask>(&spec_.task)) {
      if (const auto run = NextInProfile(*profile, trials())) return *run;
      return ProbeEnding{ProbeState::kSucceeded, {}, {}};
    }
    const SearchDecision decision =
        DecideNext(std::get<SearchOptions>(spec_.task), trials());
    if (const auto* run = std::get_if<RunBatch>(&decision)) return *run;
    return Ending(std::get<SearchAnswer>(decision), std::nullopt);
  }

  std::optional<ProbeEnding> Try(const RunBatch& run) {
    return trials_.Try(run, [this](const TrialOrder& order,
                                   const OnWorkerProgress& on_progress) {
      return tools_.runner.Run(order, tools_.cancel, on_progress);
    });
  }

  const ProbeSpec& spec_;
  const ExecutionTools& tools_;
  ProbeTrials trials_;
  std::string fall_back_reason_;  // empty: none
};

}  // namespace

ProbeEnding ExecuteProbe(const ProbeSpec& spec, const ExecutionTools& tools) {
  return Execution(spec, tools).Run();
}

}  // namespace memplan
