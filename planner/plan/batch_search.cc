#include "planner/plan/batch_search.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/batch_table.h"
#include "planner/plan/trial.h"

namespace memplan {
namespace {

const char* OutcomeWords(TrialOutcome outcome) {
  switch (outcome) {
    case TrialOutcome::kFits:
      return "runs";
    case TrialOutcome::kOutOfMemory:
      return "ran out of memory";
    case TrialOutcome::kShapeRefused:
      return "was refused by the model for its shape";
    case TrialOutcome::kModelFailed:
      return "failed in the model";
    case TrialOutcome::kTimedOut:
      return "took longer than a trial may";
    case TrialOutcome::kWorkerDied:
      return "ended the worker";
    case TrialOutcome::kSandboxRefused:
      return "reached for what the sandbox keeps from it";
  }
  return "failed";
}

// `batch 16 ran out of memory: its words`.
std::string Describe(const Trial& trial) {
  return absl::StrCat("batch ", trial.batch, " ", OutcomeWords(trial.outcome),
                      trial.message.empty() ? "" : ": ", trial.message);
}

SearchAnswer TooManyTrials() {
  SearchAnswer answer;
  answer.end = SearchEnd::kFailed;
  answer.limit = SearchLimit::kOtherFailure;
  answer.message = absl::StrCat(
      "after ", kMaxSearchTrials,
      " trials no batch ran and was safe each time; see to it that nothing "
      "else uses the device, or choose a smaller largest batch");
  return answer;
}

// One decision. Each step returns what it decides, or nothing to leave it to
// the next.
class Search {
 public:
  Search(const SearchOptions& options, std::span<const Trial> trials)
      : max_batch_(std::max<int64_t>(options.max_batch, 1)),
        first_batch_(std::clamp<int64_t>(options.first_batch, 1, max_batch_)),
        repeat_(std::max(options.repeat, 0)),
        trials_(trials),
        table_(trials, max_batch_),
        least_(LeastBatch()),
        smallest_failing_(table_.SmallestFailing(least_)) {}

  SearchDecision Decide() const {
    if (auto decision = EndIfTheSandboxRefused()) return *decision;
    if (auto decision = EndIfTheModelDoesNotLoad()) return *decision;
    if (auto decision = DecideFixedBatch()) return *decision;
    // The answer is below the smallest batch that failed.
    const int64_t upper =
        smallest_failing_ == 0 ? max_batch_ + 1 : smallest_failing_;
    const int64_t lower = table_.LargestRunningBelow(upper);
    if (auto decision = DecideBetween(lower, upper)) return *decision;
    if (auto decision = DecideNeighbours(lower)) return *decision;
    if (auto decision = DecideVerification(lower)) return *decision;
    return Found(lower);
  }

 private:
  using MaybeDecision = std::optional<SearchDecision>;

  const Trial& DecidingTrial(int64_t batch) const {
    return trials_[table_.Find(batch)->deciding_trial];
  }

  // The smallest batch that counts: 2 where 1 failed in the model though a larger
  // batch got as far as the limit of memory. Batch normalisation in training
  // refuses one sample, and that says nothing of others.
  int64_t LeastBatch() const {
    if (table_.StateOf(1) != BatchState::kFailed) return 1;
    if (DecidingTrial(1).outcome != TrialOutcome::kModelFailed) return 1;
    const bool larger_got_on =
        std::any_of(trials_.begin(), trials_.end(), [&](const Trial& trial) {
          return trial.batch > 1 && trial.batch <= max_batch_ &&
                 (trial.outcome == TrialOutcome::kFits ||
                  trial.outcome == TrialOutcome::kOutOfMemory);
        });
    return larger_got_on ? 2 : 1;
  }

  // The end `end` without a safe batch, for what `trial` showed.
  SearchAnswer Without(SearchEnd end, const Trial& trial) const {
    SearchAnswer answer;
    answer.end = end;
    answer.limit = trial.outcome == TrialOutcome::kOutOfMemory
                       ? SearchLimit::kMemory
                       : SearchLimit::kOtherFailure;
    answer.message = Describe(trial);
    answer.unsafe_running_batches = RunningAbove(trial.batch);
    return answer;
  }

  // The end that the failure of the only batch left means.
  SearchAnswer EndByFailure(const Trial& trial) const {
    return Without(trial.outcome == TrialOutcome::kOutOfMemory
                       ? SearchEnd::kDoesNotFit
                       : SearchEnd::kFailed,
                   trial);
  }

  std::vector<int64_t> RunningAbove(int64_t batch) const {
    std::vector<int64_t> running;
    for (const auto& [candidate, record] : table_.records()) {
      if (candidate > batch && record.state == BatchState::kRuns) {
        running.push_back(candidate);
      }
    }
    return running;
  }

  bool AnyBatchRan() const {
    return std::any_of(trials_.begin(), trials_.end(), [](const Trial& trial) {
      return trial.outcome == TrialOutcome::kFits;
    });
  }

  // What it reaches for has to do with the model, not with the batch; another
  // trial would give it another try.
  MaybeDecision EndIfTheSandboxRefused() const {
    for (const Trial& trial : trials_) {
      if (trial.outcome == TrialOutcome::kSandboxRefused) {
        return Without(SearchEnd::kFailed, trial);
      }
    }
    return std::nullopt;
  }

  // A model that does not load fails alike at every batch. A death is left to
  // its second try.
  MaybeDecision EndIfTheModelDoesNotLoad() const {
    if (AnyBatchRan()) return std::nullopt;
    for (const Trial& trial : trials_) {
      if (trial.failed_while_loading &&
          trial.outcome != TrialOutcome::kWorkerDied) {
        return EndByFailure(trial);
      }
    }
    return std::nullopt;
  }

  // A model with its batch baked in refuses every other shape.
  MaybeDecision DecideFixedBatch() const {
    const auto refused =
        std::find_if(trials_.begin(), trials_.end(), [](const Trial& trial) {
          return trial.outcome == TrialOutcome::kShapeRefused;
        });
    if (refused == trials_.end()) return std::nullopt;
    int64_t only_batch = 0;
    for (const auto& [batch, record] : table_.records()) {
      if (record.runs == 0) continue;
      if (only_batch != 0) return std::nullopt;  // not baked in: two ran
      only_batch = batch;
    }
    if (only_batch == 0) only_batch = BatchToTryAfterRefusal(*refused);
    if (only_batch == 0) return EndByRefusal(*refused);
    return ConfirmFixedBatch(only_batch, *refused);
  }

  // Nothing ran and `refused` was refused: the batch that the archive was
  // traced at, else the caller's own first batch, else 0.
  int64_t BatchToTryAfterRefusal(const Trial& refused) const {
    const int64_t traced = refused.traced_batch.value_or(0);
    if (traced >= 1 && traced <= max_batch_ && traced != refused.batch) {
      return traced;
    }
    return table_.StateOf(first_batch_) == BatchState::kUnknown ? first_batch_
                                                                : 0;
  }

  SearchAnswer EndByRefusal(const Trial& refused) const {
    SearchAnswer answer = Without(SearchEnd::kFailed, refused);
    const int64_t traced = refused.traced_batch.value_or(0);
    if (traced > max_batch_) {
      absl::StrAppend(&answer.message, "; it was traced at batch ", traced,
                      ", above the largest allowed, ", max_batch_);
    }
    return answer;
  }

  MaybeDecision ConfirmFixedBatch(int64_t batch, const Trial& refused) const {
    switch (table_.StateOf(batch)) {
      case BatchState::kUnknown:
        return RunBatch{batch, TrialPurpose::kSearch};
      case BatchState::kFailed:
        return EndByFailure(DecidingTrial(batch));
      case BatchState::kRuns:
        break;
    }
    if (auto decision = DecideVerification(batch)) return decision;
    SearchAnswer answer;
    answer.end = SearchEnd::kFixedBatch;
    answer.safe_batch = batch;
    answer.verifying_trials = table_.Find(batch)->runs - 1;
    answer.limit = SearchLimit::kOtherFailure;
    answer.message = Describe(refused);
    return answer;
  }

  // `lower` runs (0: nothing does), the answer is below `upper`.
  MaybeDecision DecideBetween(int64_t lower, int64_t upper) const {
    if (smallest_failing_ == least_) return EndByFailure(DecidingTrial(least_));
    if (lower + 1 == upper) return std::nullopt;
    return RunBatch{BatchBetween(lower, upper), TrialPurpose::kSearch};
  }

  int64_t BatchBetween(int64_t lower, int64_t upper) const {
    const bool nothing_failed = smallest_failing_ == 0;
    if (nothing_failed && lower < first_batch_) return first_batch_;
    if (nothing_failed) return std::min(lower * 2, max_batch_);
    if (lower == 0) return least_;
    return lower + (upper - lower) / 2;
  }

  MaybeDecision DecideNeighbours(int64_t answer) const {
    for (int64_t offset : {-2, -1, 1, 2}) {
      const int64_t batch = answer + offset;
      if (batch < least_ || batch > max_batch_ || IsBehindWall(batch)) continue;
      if (table_.StateOf(batch) == BatchState::kUnknown) {
        return RunBatch{batch, TrialPurpose::kNeighbour};
      }
    }
    return std::nullopt;
  }

  // True if `batch` or a smaller one that counts failed for another reason than
  // memory.
  bool IsBehindWall(int64_t batch) const {
    for (const auto& [candidate, record] : table_.records()) {
      if (candidate > batch) return false;
      if (candidate < least_) continue;
      if (record.state == BatchState::kFailed &&
          DecidingTrial(candidate).outcome != TrialOutcome::kOutOfMemory) {
        return true;
      }
    }
    return false;
  }

  MaybeDecision DecideVerification(int64_t batch) const {
    if (table_.Find(batch)->runs - 1 >= repeat_) return std::nullopt;
    return RunBatch{batch, TrialPurpose::kVerify};
  }

  SearchAnswer Found(int64_t batch) const {
    SearchAnswer answer;
    answer.end = SearchEnd::kFound;
    answer.safe_batch = batch;
    answer.verifying_trials = table_.Find(batch)->runs - 1;
    if (least_ > 1) answer.message = Describe(DecidingTrial(1));
    if (smallest_failing_ == 0) {
      answer.limit = SearchLimit::kMaxBatch;
      return answer;
    }
    answer.unsafe_running_batches = RunningAbove(smallest_failing_);
    const Trial& failure = DecidingTrial(smallest_failing_);
    if (failure.outcome == TrialOutcome::kOutOfMemory) {
      answer.limit = SearchLimit::kMemory;
    } else {
      answer.limit = SearchLimit::kOtherFailure;
      answer.message =
          absl::StrCat(Describe(failure), answer.message.empty() ? "" : "; ",
                       answer.message);
    }
    return answer;
  }

  const int64_t max_batch_;
  const int64_t first_batch_;
  const int repeat_;
  const std::span<const Trial> trials_;
  const BatchTable table_;
  const int64_t least_;
  const int64_t smallest_failing_;  // of those that count; 0 if none
};

}  // namespace

SearchDecision DecideNext(const SearchOptions& options,
                          std::span<const Trial> trials) {
  SearchDecision decision = Search(options, trials).Decide();
  const bool ended = std::holds_alternative<SearchAnswer>(decision);
  if (!ended && trials.size() >= kMaxSearchTrials) return TooManyTrials();
  return decision;
}

}  // namespace memplan
