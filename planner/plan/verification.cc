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

class Verification {
 public:
  Verification(const VerificationOptions& options,
               const ExpectedBatch& expected, std::span<const Trial> trials,
               const BatchTable& table)
      : options_(options),
        repeat_(std::max(options.repeat, 1)),
        expected_(expected),
        trials_(trials),
        failing_(table.SmallestFailing()),
        running_(failing_ == 0 ? 0 : table.LargestRunningBelow(failing_)),
        made_(std::count_if(trials.begin(), trials.end(), IsVerifying)) {}

  VerificationDecision Decide() const {
    const int64_t candidate = Candidate();
    if (candidate < 1) {
      return FallBack{"the smallest batches ran out of memory"};
    }
    if (CountFreshRuns(trials_, candidate) < repeat_) {
      if (made_ < MostTrials()) {
        return RunBatch{candidate, TrialPurpose::kVerify};
      }
      return FallBack{absl::StrCat("no prediction held in ", made_, " trials")};
    }
    if (IsNextOpen(candidate)) {
      return RunBatch{candidate + 1, TrialPurpose::kVerify};
    }
    return Found(candidate);
  }

 private:
  int64_t Predicted() const {
    return std::min(expected_.safe, options_.max_batch);
  }

  int64_t Candidate() const {
    int64_t candidate = Predicted();
    if (failing_ != 0 && candidate >= failing_) return BelowRefuted();
    // What ran right above it refutes it too.
    while (candidate < options_.max_batch &&
           CountFreshRuns(trials_, candidate + 1) > 0) {
      ++candidate;
    }
    return candidate;
  }

  // Below `failing_`, which was predicted to run. Once a run whose trace the
  // prediction knows is at hand, the upper half of what is between, since
  // predictions are near.
  int64_t BelowRefuted() const {
    if (running_ + 1 == failing_) return running_;
    int64_t candidate = std::max(running_, BelowFailure());
    if (CountFreshRuns(trials_, running_) > 0) {
      const int64_t gap = failing_ - running_;
      candidate = std::max(candidate, running_ + (gap + 1) / 2);
    }
    return candidate;
  }

  // Lower by 0.4 %, more than predictions are mostly off, and by twice as much
  // after each such trial: a run is soon at hand whose trace corrects them.
  int64_t BelowFailure() const {
    int64_t step = std::max<int64_t>(failing_ / 256, 1);
    bool is_first = true;
    for (const Trial& trial : trials_) {
      if (!IsVerifying(trial) || trial.outcome != TrialOutcome::kOutOfMemory) {
        continue;
      }
      if (!is_first) step = std::min(step * 2, failing_);
      is_first = false;
    }
    return failing_ - step;
  }

  int64_t MostTrials() const {
    const bool is_closing = failing_ != 0 &&
                            failing_ - running_ <= kClosingGap &&
                            CountFreshRuns(trials_, running_) > 0;
    return options_.max_trials + (is_closing ? kClosingTrials : 0);
  }

  // The batch above `candidate`, which ran, is worth a run.
  bool IsNextOpen(int64_t candidate) const {
    return expected_.is_next_open && candidate == Predicted() &&
           candidate < options_.max_batch && candidate + 1 != failing_ &&
           made_ + repeat_ <= options_.max_trials;
  }

  SearchAnswer Found(int64_t batch) const {
    SearchAnswer answer;
    answer.end = SearchEnd::kFound;
    answer.safe_batch = batch;
    answer.verifying_trials = static_cast<int>(CountFreshRuns(trials_, batch));
    answer.limit = batch == options_.max_batch ? SearchLimit::kMaxBatch
                                               : SearchLimit::kMemory;
    return answer;
  }

  const VerificationOptions& options_;
  const int repeat_;
  const ExpectedBatch expected_;
  const std::span<const Trial> trials_;
  const int64_t failing_;  // the smallest that ran out of memory, or 0
  const int64_t running_;  // the largest below that; 0: none
  const int64_t made_;     // trials for predictions
};

}  // namespace

VerificationDecision DecideVerification(const VerificationOptions& options,
                                        std::optional<ExpectedBatch> expected,
                                        std::span<const Trial> trials) {
  const BatchTable table(trials, options.max_batch);
  if (const Trial* other = FindOtherFailure(table, trials); other != nullptr) {
    return FallBack{absl::StrCat("batch ", other->batch,
                                 " failed for another reason than memory")};
  }
  if (!expected.has_value()) return FallBack{"nothing could be predicted"};
  if (expected->safe < 1) return FallBack{"not one sample is predicted to fit"};
  return Verification(options, *expected, trials, table).Decide();
}

}  // namespace memplan
