// Runs a search against a table of outcomes, as the daemon would against real
// workers: asks DecideNext, looks the batch up, asks again.
#ifndef MEMPLAN_TESTS_PLANNER_PLAN_OUTCOME_TABLE_H_
#define MEMPLAN_TESTS_PLANNER_PLAN_OUTCOME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "planner/plan/batch_search.h"
#include "planner/plan/trial.h"
#include "tests/planner/plan/sample_trial.h"

namespace memplan::testing {

// The trial that `order` ends in; `nth` counts the runs of its batch from 0.
using OutcomeTable = std::function<Trial(const RunBatch& order, int nth)>;

struct SearchRun {
  std::vector<Trial> trials;
  SearchAnswer answer;
  bool ended = false;  // false: `most_trials` were not enough

  // The batches in the order run.
  std::vector<int64_t> Batches() const {
    std::vector<int64_t> batches;
    for (const Trial& trial : trials) batches.push_back(trial.batch);
    return batches;
  }
};

inline SearchRun RunSearch(const SearchOptions& options,
                           const OutcomeTable& table, size_t most_trials,
                           std::vector<Trial> trials = {}) {
  SearchRun run;
  run.trials = std::move(trials);
  while (run.trials.size() <= most_trials) {
    const SearchDecision decision = DecideNext(options, run.trials);
    if (const auto* answer = std::get_if<SearchAnswer>(&decision)) {
      run.answer = *answer;
      run.ended = true;
      return run;
    }
    const auto& order = std::get<RunBatch>(decision);
    int nth = 0;
    for (const Trial& trial : run.trials) nth += trial.batch == order.batch;
    Trial trial = table(order, nth);
    trial.batch = order.batch;
    trial.purpose = order.purpose;
    run.trials.push_back(trial);
  }
  return run;
}

// Batches up to `limit` run, all above run out of memory.
inline OutcomeTable MemoryLimitOf(int64_t limit) {
  return [limit](const RunBatch& order, int) {
    return Ended(order.batch <= limit ? TrialOutcome::kFits
                                      : TrialOutcome::kOutOfMemory);
  };
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_PLAN_OUTCOME_TABLE_H_
