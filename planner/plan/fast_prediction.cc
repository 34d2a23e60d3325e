#include "planner/plan/fast_prediction.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/statusor.h"
#include "planner/base/status_macros.h"
#include "planner/plan/known_calls.h"
#include "planner/plan/nearby_call_plans.h"
#include "planner/plan/predicted_answer.h"
#include "planner/plan/prediction_search.h"
#include "planner/plan/shape_estimate.h"
#include "planner/trace/recordings.h"
#include "planner/trace/shape.h"

namespace memplan {
namespace {

constexpr char kBatch[] = "batch";
// Larger batches that run are told, not recommended: a few do.
constexpr size_t kMaxRunningAbove = 16;

Shape BatchShape(int64_t batch) { return {{kBatch, batch}}; }

}  // namespace

absl::StatusOr<std::unique_ptr<FastPrediction>> FastPrediction::Create(
    const std::map<int64_t, Trace>& traces) {
  std::vector<Recording> all;
  all.reserve(traces.size());
  for (const auto& [batch, trace] : traces) {
    all.push_back({BatchShape(batch), &trace});
  }
  std::span<const Recording> used = all;
  if (used.size() > kMaxRecordings) used = used.last(kMaxRecordings);
  absl::StatusOr<SymbolicTrace> symbolic = MakeSymbolicTrace(used);
  while (!symbolic.ok() && used.size() > 2) {
    used = used.subspan(1);
    symbolic = MakeSymbolicTrace(used);
  }
  MEMPLAN_RETURN_IF_ERROR(symbolic.status());
  return absl::WrapUnique(new FastPrediction(*std::move(symbolic)));
}

void FastPrediction::PrepareFor(const AllocatorConditions& conditions) {
  if (search_ != nullptr && conditions_ == conditions) return;
  conditions_ = conditions;
  search_ = std::make_unique<PredictionSearch>(symbolic_, conditions_);
  estimator_ = std::make_unique<ShapeEstimator>(symbolic_, conditions_);
}

absl::StatusOr<PredictedAnswer> FastPrediction::Answer(
    const FastPredictionOptions& options, const KnownCalls& known) {
  MEMPLAN_ASSIGN_OR_RETURN(NearbyCallPlans plans,
                           NearbyCallPlans::Create(symbolic_, known));
  PrepareFor(options.conditions);
  PredictionOptions asked;
  asked.shape = BatchShape(1);
  asked.max_batch = options.max_batch;
  asked.plans = &plans;
  asked.has_segments = options.has_segments;
  asked.start = options.start;
  asked.only_safe = options.only_safe;
  asked.sharer = options.sharer;
  MEMPLAN_ASSIGN_OR_RETURN(const PredictedBatches found, search_->Find(asked));

  const auto at = [&](int64_t batch) -> absl::StatusOr<PredictedBatch> {
    if (batch < 1 || batch > options.max_batch) return PredictedBatch();
    MEMPLAN_ASSIGN_OR_RETURN(const StreamOutcome outcome,
                             search_->Replay(asked, batch));
    return PredictedBatch{batch, plans.KnowledgeAt(batch), outcome};
  };
  PredictedAnswer answer;
  answer.checked_from = found.checked_from;
  answer.checked_to = found.checked_to;
  answer.replays = search_->replays();
  MEMPLAN_ASSIGN_OR_RETURN(answer.safe, at(found.safe_batch));
  if (options.names_interval && options.has_segments && answer.safe.batch > 0) {
    MEMPLAN_ASSIGN_OR_RETURN(answer.safe_interval,
                             IntervalOf(options, answer.safe, plans));
  }
  MEMPLAN_ASSIGN_OR_RETURN(answer.comfortable, at(found.comfortable_batch));
  MEMPLAN_ASSIGN_OR_RETURN(answer.failing, at(found.safe_batch + 1));
  for (const int64_t batch : found.running_above) {
    if (answer.running_above.size() == kMaxRunningAbove) break;
    MEMPLAN_ASSIGN_OR_RETURN(answer.running_above.emplace_back(), at(batch));
  }
  for (const std::vector<int64_t>& shape : symbolic_.shapes) {
    answer.recorded_batches.push_back(shape.front());
  }
  answer.call_batches.assign(known.batches().begin(), known.batches().end());
  answer.irregular_calls = static_cast<int64_t>(symbolic_.calls.size());
  answer.distinct_calls = plans.distinct_calls();
  return answer;
}

// The recording of a verifying run replays to the peaks that it had: there is
// nothing to guess. One of before may be of another cap. Operators that were run
// alone leave more open than that, since what looks regular in two recordings
// need not be so at a larger batch.
absl::StatusOr<PeakInterval> FastPrediction::IntervalOf(
    const FastPredictionOptions& options, const PredictedBatch& predicted,
    NearbyCallPlans& plans) {
  const std::vector<int64_t>& verified = options.verified_batches;
  const bool was_verified = std::find(verified.begin(), verified.end(),
                                      predicted.batch) != verified.end();
  const Shape shape = BatchShape(predicted.batch);
  MEMPLAN_ASSIGN_OR_RETURN(const Reach reach, ReachOf(symbolic_, shape));
  if (reach == Reach::kRecorded && was_verified) {
    const AllocatorPeaks& peaks = predicted.outcome.peaks;
    return PeakInterval{{peaks.allocated.bytes, peaks.allocated.bytes},
                        {peaks.reserved.bytes, peaks.reserved.bytes}};
  }
  MEMPLAN_ASSIGN_OR_RETURN(
      const ShapeEstimate estimate,
      estimator_->Estimate(shape, {.plans = plans.At(shape),
                                   .only_those_that_run = true,
                                   .recorded_elsewhere = true,
                                   .sharer = options.sharer}));
  return PeakInterval{{estimate.allocated.lower, estimate.allocated.upper},
                      {estimate.reserved.lower, estimate.reserved.upper}};
}

absl::StatusOr<std::vector<DistinctCall>> FastPrediction::CallsAt(
    int64_t batch) const {
  const std::vector<int64_t> values = {batch};
  if (std::find(symbolic_.shapes.begin(), symbolic_.shapes.end(), values) !=
      symbolic_.shapes.end()) {
    return std::vector<DistinctCall>();
  }
  return IrregularCallsAt(symbolic_, BatchShape(batch));
}

}  // namespace memplan
