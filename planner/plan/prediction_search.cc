#include "planner/plan/prediction_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/shared_work.h"
#include "planner/base/status_macros.h"
#include "planner/plan/batch_replay.h"
#include "planner/plan/safe_search.h"
#include "planner/plan/stream_replay.h"
#include "planner/trace/shape.h"

namespace memplan {
namespace {

// For how many batches it is worth it to start threads.
constexpr size_t kWorthThreads = 8;

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
  ++finds_;
  const Candidates candidates(options);
  SafeSearchOptions search =
      FirstSearch(options, candidates,
                  symbolic_.shapes[symbolic_.largest][options.dimension]);
  const auto find = [&](bool (StreamOutcome::*is_good)() const) {
    const auto ask = [&](int64_t place) -> absl::StatusOr<bool> {
      const int64_t batch = candidates.At(place);
      const auto known = outcomes_.find(batch);
      if (known != outcomes_.end() && known->second.asked_in == finds_) {
        return (known->second.outcome.*is_good)();
      }
      MEMPLAN_ASSIGN_OR_RETURN(const StreamOutcome outcome,
                               ReplayOnce(options, batch));
      return (outcome.*is_good)();
    };
    const auto foresee = [&](int64_t first, int64_t last) {
      std::vector<int64_t> batches;
      for (int64_t place = first; place <= last; ++place) {
        batches.push_back(candidates.At(place));
      }
      ReplayAll(options, batches);
    };
    return FindSafe(search, ask, foresee);
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
  Asked asked{.batch = batch};
  Ask(options, options.plans, *replays_of_threads_.front(), asked);
  Learn(asked);
  return asked.outcome;
}

void PredictionSearch::Ask(const PredictionOptions& options,
                           CallPlanSource* plans, BatchReplay& replay,
                           Asked& asked) const {
  Shape shape = options.shape;
  shape[options.dimension].value = asked.batch;
  InstantiateOptions instantiate{.scenario = options.scenario};
  if (plans != nullptr) instantiate.plans = plans->At(shape);
  asked.key = KeyOf(options, shape, instantiate.plans);
  const auto known = outcomes_.find(asked.batch);
  asked.is_new = known == outcomes_.end() || known->second.key != asked.key;
  if (asked.is_new) {
    asked.outcome = replay.Run(shape, instantiate, options.has_segments);
  } else {
    asked.outcome = known->second.outcome;
  }
}

void PredictionSearch::Learn(const Asked& asked) {
  if (asked.is_new) ++replays_;
  if (!asked.outcome.ok()) return;
  outcomes_[asked.batch] = {asked.key, *asked.outcome, finds_};
}

void PredictionSearch::ReplayAll(const PredictionOptions& options,
                                 const std::vector<int64_t>& batches) {
  std::vector<Asked> all;
  for (const int64_t batch : batches) {
    const auto known = outcomes_.find(batch);
    const bool is_known =
        known != outcomes_.end() && known->second.asked_in == finds_;
    if (!is_known) all.push_back({.batch = batch});
  }
  if (all.size() < kWorthThreads) return;
  const size_t workers = WorkersFor(options.sharer, all.size());
  while (replays_of_threads_.size() < workers) {
    replays_of_threads_.push_back(MakeReplay());
  }
  std::vector<CallPlanSource*> plans = {options.plans};
  std::vector<std::unique_ptr<CallPlanSource>> copies;
  while (plans.size() < workers) {
    if (options.plans != nullptr) {
      copies.push_back(options.plans->Copy());
      if (copies.back() == nullptr) break;
    }
    plans.push_back(copies.empty() ? nullptr : copies.back().get());
  }
  const auto ask = [&](size_t worker, size_t i) {
    Ask(options, plans[worker], *replays_of_threads_[worker], all[i]);
  };
  ShareWork(options.sharer, all.size(), plans.size(), ask);
  for (const Asked& asked : all) {
    if (asked.outcome.ok()) Learn(asked);
  }
}

}  // namespace memplan
