// What a prediction says besides the safe batch: how much of it is known, the
// batch that runs at ease, the first that fails, larger ones that happen to run,
// and what each costs. Goes into the plan beside the SearchAnswer.
#ifndef MEMPLAN_PLANNER_PLAN_PREDICTED_ANSWER_H_
#define MEMPLAN_PLANNER_PLAN_PREDICTED_ANSWER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/base/bytes.h"
#include "planner/plan/stream_replay.h"

namespace memplan {

// What stands behind the requests of irregular calls at a batch, from the best
// to the least: the least of all calls counts.
enum class CallKnowledge {
  kRecorded,  // the batch itself was run and recorded, or no call is irregular
  kRun,       // each call was run alone at this batch
  kScaled,    // from runs of calls at batches near by
  kAssumed,   // from the recordings alone, for some call at least
};

// One batch replayed under the cap.
struct PredictedBatch {
  int64_t batch = 0;
  CallKnowledge knowledge = CallKnowledge::kAssumed;
  // Whether it runs, its peaks, and what it costs: retries and segments freed in
  // all, and in the last step alone.
  StreamOutcome outcome;
};

// Two amounts between which a peak is meant to lie, both included.
struct PeakRange {
  Bytes least;
  Bytes most;

  bool Holds(Bytes peak) const { return least <= peak && peak <= most; }
  friend bool operator==(const PeakRange&, const PeakRange&) = default;
};

// Of a run that gets through all its steps under the cap.
struct PeakInterval {
  PeakRange allocated;
  PeakRange reserved;
  friend bool operator==(const PeakInterval&, const PeakInterval&) = default;
};

struct PredictedAnswer {
  // The largest that runs with all smaller ones, and the largest of those that
  // with all smaller ones runs without giving memory back in a settled step;
  // batch 0: none.
  PredictedBatch safe;
  PredictedBatch comfortable;
  // Of the peaks of `safe`: zero wide where its verifying run was recorded, else
  // as wide as shape_estimate makes it; a plan widens it above by what depends on
  // contents (ContentsDependence). None without a safe batch, without
  // segments, or of traces that are not as run (FastSearchOptions).
  std::optional<PeakInterval> safe_interval;
  // The smallest that fails; batch 0: none up to the largest allowed.
  PredictedBatch failing;
  // Larger than that: they run. Told, not recommended.
  std::vector<PredictedBatch> running_above;
  // Every batch from here to there was replayed.
  int64_t checked_from = 0;
  int64_t checked_to = 0;
  int64_t replays = 0;
  // What it rests on: the batches recorded, and those whose calls were run.
  std::vector<int64_t> recorded_batches;
  std::vector<int64_t> call_batches;
  // Irregular calls of a step of the program, and how many of them differ.
  int64_t irregular_calls = 0;
  int64_t distinct_calls = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_PREDICTED_ANSWER_H_
