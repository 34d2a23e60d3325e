#include "planner/plan/verification.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/batch_table.h"
#include "planner/plan/trial.h"

namespace memplan {
namespace {

bool IsVerifying(const Trial& trial) {
  return trial.purpose == TrialPurpose::kVerify;
}

// A trial that ended for another reason than memory: predictions say nothing of
// it, bisection knows what to do. One death of a worker is forgiven.
const Trial* FindOtherFailure(const BatchTable& table,
                              std::span<const Trial> trials) {
  for (const Trial& trial : trials) {
    if (trial.outcome == TrialOutcome::kFits ||
        trial.outcome == TrialOutcome::kOutOfMemory) {
      continue;
    }
    if (trial.outcome == TrialOutcome::kWorkerDied &&
        table.StateOf(trial.batch) != BatchState::kFailed) {
      continue;
    }
    return &trial;
  }
  return nullptr;
}

// A recording's process may have run another batch before.
int64_t CountFreshRuns(std::span<const Trial> trials, int64_t batch) {
  return std::count_if(trials.begin(), trials.end(), [&](const Trial& trial) {
    return trial.batch == batch && trial.outcome == TrialOutcome::kFits &&
           trial.purpose != TrialPurpose::kRecord;
  });
}

// Where to run next when `predicted` is not below `failing`, the smallest batch
// that ran out of memory: lower by 1 %, by twice as much after each such trial,
// so that a run is soon at hand whose trace corrects the prediction.
int64_t BelowFailure(int64_t failing, std::span<const Trial> trials) {
  int64_t step = std::max<int64_t>(failing / 100, 1);
  bool is_first = true;
  for (const Trial& trial : trials) {
    if (!IsVerifying(trial) || trial.outcome != TrialOutcome::kOutOfMemory) {
      continue;
    }
    if (!is_first) step = std::min(step * 2, failing);
    is_first = false;
  }
  return failing - step;
}

}  // namespace

VerificationDecision DecideVerification(const VerificationOptions& options,
                                        std::optional<int64_t> predicted,
                                        std::span<const Trial> trials) {
  const BatchTable table(trials, options.max_batch);
  if (const Trial* other = FindOtherFailure(table, trials); other != nullptr) {
    return FallBack{absl::StrCat("batch ", other->batch,
                                 " failed for another reason than memory")};
  }
  if (!predicted.has_value()) return FallBack{"nothing could be predicted"};
  if (*predicted < 1) return FallBack{"not one sample is predicted to fit"};

  const int64_t failing = table.SmallestFailing();
  int64_t candidate = std::min(*predicted, options.max_batch);
  if (failing != 0 && candidate >= failing) {
    const int64_t running = table.LargestRunningBelow(failing);
    candidate = std::max(running, BelowFailure(failing, trials));
  }
  if (candidate < 1) return FallBack{"the smallest batches ran out of memory"};

  const auto runs = static_cast<int>(CountFreshRuns(trials, candidate));
  if (runs >= std::max(options.repeat, 1)) {
    const bool is_predicted =
        candidate == std::min(*predicted, options.max_batch);
    if (!is_predicted && candidate + 1 != failing) {
      return FallBack{absl::StrCat("batch ", failing,
                                   " ran out of memory though ", *predicted,
                                   " was predicted to run")};
    }
    SearchAnswer answer;
    answer.end = SearchEnd::kFound;
    answer.safe_batch = candidate;
    answer.verifying_trials = runs;
    answer.limit = candidate == options.max_batch ? SearchLimit::kMaxBatch
                                                  : SearchLimit::kMemory;
    return answer;
  }
  const auto made = std::count_if(trials.begin(), trials.end(), IsVerifying);
  if (made >= options.max_trials) {
    return FallBack{
        absl::StrCat("no prediction held in ", options.max_trials, " trials")};
  }
  return RunBatch{candidate, TrialPurpose::kVerify};
}

}  // namespace memplan
