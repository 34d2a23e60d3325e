// The answer that recordings, and runs of calls alone, let predict. Between two
// trials of a fast search this is asked again as often as more is known.
#ifndef MEMPLAN_PLANNER_PLAN_FAST_PREDICTION_H_
#define MEMPLAN_PLANNER_PLAN_FAST_PREDICTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/allocator/conditions.h"
#include "planner/base/shared_work.h"
#include "planner/plan/known_calls.h"
#include "planner/plan/nearby_call_plans.h"
#include "planner/plan/predicted_answer.h"
#include "planner/plan/prediction_search.h"
#include "planner/plan/shape_estimate.h"
#include "planner/trace/irregular_calls.h"
#include "planner/trace/symbolic_trace.h"
#include "planner/trace/trace.h"

namespace memplan {

struct FastPredictionOptions {
  AllocatorConditions conditions;
  bool has_segments = true;  // as of PredictionOptions
  int64_t max_batch = 65536;
  // As of PredictionOptions.
  int64_t start = 0;
  bool only_safe = false;
  bool names_interval = true;  // where there are segments
  // Got through under these very conditions, in a fresh process.
  std::vector<int64_t> verified_batches = {};
  const WorkSharer* sharer = nullptr;  // as of PredictionOptions
};

// Not thread-safe.
class FastPrediction {
 public:
  // By batch. Where they do not go together the smallest is left out: a program
  // may do otherwise at batch 1. kInvalidArgument, as of MakeSymbolicTrace, if
  // the two largest do not either.
  static absl::StatusOr<std::unique_ptr<FastPrediction>> Create(
      const std::map<int64_t, Trace>& traces);

  // Batches whose calls are known as they were when last asked, under the same
  // conditions, are not replayed again. Errors as of PredictionSearch::Find.
  absl::StatusOr<PredictedAnswer> Answer(const FastPredictionOptions& options,
                                         const KnownCalls& known);

  // The irregular calls at `batch`: none where that batch was recorded.
  absl::StatusOr<std::vector<DistinctCall>> CallsAt(int64_t batch) const;

 private:
  explicit FastPrediction(SymbolicTrace symbolic)
      : symbolic_(std::move(symbolic)) {}

  // Those that were kept for other conditions are made anew.
  void PrepareFor(const AllocatorConditions& conditions);
  absl::StatusOr<PeakInterval> IntervalOf(const FastPredictionOptions& options,
                                          const PredictedBatch& predicted,
                                          NearbyCallPlans& plans);

  const SymbolicTrace symbolic_;
  AllocatorConditions conditions_;            // those of search_ and estimator_
  std::unique_ptr<PredictionSearch> search_;  // null: not yet
  std::unique_ptr<ShapeEstimator> estimator_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_FAST_PREDICTION_H_
