// The plan: the answer to a search with the evidence for each number. Made from
// the trials alone, so that it can be made again from the store.
#ifndef MEMPLAN_PLANNER_PLAN_PLAN_H_
#define MEMPLAN_PLANNER_PLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/base/bytes.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/predicted_answer.h"
#include "planner/plan/trial.h"
#include "planner/plan/warm_up.h"

namespace memplan {

// How a number is known. The same words as proto Provenance.
enum class Provenance { kEstimate, kMeasured, kVerified };

struct Quantity {
  Bytes bytes;
  Provenance provenance = Provenance::kEstimate;
  int trial_number = 0;  // from 1; 0 for an estimate
  friend bool operator==(const Quantity&, const Quantity&) = default;
};

struct Neighbour {
  int64_t batch = 0;
  TrialOutcome outcome = TrialOutcome::kFits;
  int trial_number = 0;  // from 1; 0: predicted, not run
  friend bool operator==(const Neighbour&, const Neighbour&) = default;
};

struct Plan {
  SearchAnswer answer;
  bool verified = false;
  // Of the safe batch; all unset if there is none. Each is the largest that any
  // trial of the safe batch showed.
  std::optional<Quantity> peak_requested;
  std::optional<Quantity> peak_allocated;
  std::optional<Quantity> peak_active;
  std::optional<Quantity> peak_reserved;
  // Of the steady step alone (SteadyStep), where the others are of the worst.
  std::optional<Quantity> steady_peak_allocated;
  std::optional<Quantity> steady_peak_reserved;
  // Of the trial that shows steady_peak_allocated.
  std::optional<WarmUp> warm_up;
  std::optional<Quantity> context;
  std::optional<Quantity> fragmentation;
  std::optional<double> fragmentation_ratio;  // fragmentation / peak reserved
  int peak_step = -1;
  // Of the trial that shows the allocated peak.
  std::optional<AttributedRequest> peak_request;
  // The interval of what was predicted is as much wider above.
  std::optional<ContentsDependence> contents_dependence;
  std::vector<Neighbour>
      neighbours;  // N−2 … N+2 without N, those that were run or predicted
  // What was predicted; none if the answer was bisected.
  std::optional<PredictedAnswer> predicted;
  std::string fall_back_reason;  // why not, if that was tried
  int recording_trials = 0;
  int trial_count = 0;
  int out_of_memory_count = 0;
  double seconds = 0;  // sum of the trials' own times
};

// `trials` in the order run; trial number k is trials[k−1].
// `predicted` is what the answer was predicted with, if it was.
Plan MakePlan(const SearchAnswer& answer, std::span<const Trial> trials,
              std::optional<PredictedAnswer> predicted = std::nullopt);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_PLAN_H_
