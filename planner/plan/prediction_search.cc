#include "planner/plan/prediction_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/plan/live_replay.h"
#include "planner/plan/safe_search.h"
#include "planner/plan/stream_replay.h"
#include "planner/trace/shape.h"

namespace memplan {
namespace {

absl::Status CheckOptions(const PredictionOptions& options) {
  if (options.dimension >= options.shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no dimension ",
                                                   options.dimension, " in ",
                                                   ShapeText(options.shape)));
  }
  for (size_t i = 0; i < options.candidates.size(); ++i) {
    if (options.candidates[i] < 1 ||
        (i > 0 && options.candidates[i] <= options.candidates[i - 1])) {
      return absl::InvalidArgumentError(
          absl::StrCat("candidate ", i, " is ", options.candidates[i],
                       "; give batches from 1 up, in rising order"));
    }
  }
  return absl::OkStatus();
}

// Candidates by their place, from 1: a list, or every batch.
class Candidates {
 public:
  explicit Candidates(const PredictionOptions& options) : options_(options) {}

  int64_t last() const {
    return options_.candidates.empty()
               ? std::min(options_.max_batch, kMaxShapeValue)
               : static_cast<int64_t>(options_.candidates.size());
  }
  // 0 for place 0.
  int64_t At(int64_t place) const {
    if (options_.candidates.empty() || place == 0) return place;
    return options_.candidates[place - 1];
  }
  // The first place at or above `batch`.
  int64_t PlaceOf(int64_t batch) const {
    if (options_.candidates.empty()) return batch;
    return std::lower_bound(options_.candidates.begin(),
                            options_.candidates.end(), batch) -
           options_.candidates.begin() + 1;
  }
  std::vector<int64_t> At(std::vector<int64_t> places) const {
    for (int64_t& place : places) place = At(place);
    return places;
  }

 private:
  const PredictionOptions& options_;
};

// For the safe batch; `recorded` is where to start if nothing better is known.
SafeSearchOptions FirstSearch(const PredictionOptions& options,
                              const Candidates& candidates, int64_t recorded) {
  SafeSearchOptions search{.last = candidates.last(), .reach = options.reach};
  search.start =
      candidates.PlaceOf(options.start > 0 ? options.start : recorded);
  if (options.start > 0) search.first_distance = 1;
  if (options.only_safe) search.reach_above = 1;
  return search;
}

// Stands for what decides how a batch goes, besides trace, cap and batch.
size_t KeyOf(const PredictionOptions& options, const Shape& shape,
             const CallPlans* plans) {
  size_t key = absl::HashOf(options.scenario, options.has_segments);
  for (const ShapeDimension& dimension : shape) {
    key = absl::HashOf(key, dimension.name, dimension.value);
  }
  if (plans == nullptr) return key;
  key = absl::HashOf(key, plans->of_call);
  for (const std::vector<CallPlan>& of_call : plans->distinct) {
    key = absl::HashOf(key, of_call.size());
    for (const CallPlan& plan : of_call) {
      key = absl::HashOf(key, plan.size());
      for (const CallStep& step : plan) {
        key = absl::HashOf(key, step.request, step.bytes);
      }
    }
  }
  return key;
}

}  // namespace

absl::StatusOr<PredictedBatches> PredictionSearch::Find(
    const PredictionOptions& options) {
  MEMPLAN_RETURN_IF_ERROR(CheckOptions(options));
  const int64_t replays_before = replays_;
  const Candidates candidates(options);
  SafeSearchOptions search =
      FirstSearch(options, candidates,
                  symbolic_.shapes[symbolic_.largest][options.dimension]);
  const auto find = [&](bool (StreamOutcome::*is_good)() const) {
    return FindSafe(search, [&](int64_t place) -> absl::StatusOr<bool> {
      MEMPLAN_ASSIGN_OR_RETURN(const StreamOutcome outcome,
                               ReplayOnce(options, candidates.At(place)));
      return (outcome.*is_good)();
    });
  };
  MEMPLAN_ASSIGN_OR_RETURN(const SafeCandidates safe,
                           find(&StreamOutcome::Runs));
  PredictedBatches result;
  result.checked_from = candidates.At(safe.checked_from);
  result.checked_to = candidates.At(safe.checked_to);
  result.running_above = candidates.At(safe.running_above);
  result.holes = candidates.At(safe.holes);
  if (safe.safe.has_value()) {
    result.safe_batch = candidates.At(*safe.safe);
    result.at_safe = outcomes_.at(result.safe_batch).outcome;
    if (!options.only_safe) {
      search.start = search.last = *safe.safe;
      search.first_distance = 0;
      MEMPLAN_ASSIGN_OR_RETURN(const SafeCandidates comfortable,
                               find(&StreamOutcome::RunsAtEase));
      result.comfortable_batch = candidates.At(comfortable.safe.value_or(0));
    }
  }
  result.replays = replays_ - replays_before;
  return result;
}

absl::StatusOr<StreamOutcome> PredictionSearch::Replay(
    const PredictionOptions& options, int64_t batch) {
  MEMPLAN_RETURN_IF_ERROR(CheckOptions(options));
  return ReplayOnce(options, batch);
}

absl::StatusOr<StreamOutcome> PredictionSearch::ReplayOnce(
    const PredictionOptions& options, int64_t batch) {
  Shape shape = options.shape;
  shape[options.dimension].value = batch;
  InstantiateOptions instantiate{.scenario = options.scenario};
  if (options.plans != nullptr) instantiate.plans = options.plans->At(shape);
  const size_t key = KeyOf(options, shape, instantiate.plans);
  const auto known = outcomes_.find(batch);
  if (known != outcomes_.end() && known->second.key == key) {
    return known->second.outcome;
  }
  ++replays_;
  StreamOutcome outcome;
  const absl::Status status = instantiator_.Run(shape, instantiate, stream_);
  if (absl::IsOutOfRange(status)) {
    outcome.failed_request = 0;  // no device holds what it would ask for
  } else {
    MEMPLAN_RETURN_IF_ERROR(status);
    outcome = options.has_segments ? replay_.Run(stream_)
                                   : ReplayLiveBytes(stream_, cap_);
  }
  outcomes_[batch] = {key, outcome};
  return outcome;
}

}  // namespace memplan
