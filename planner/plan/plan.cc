#include "planner/plan/plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "planner/base/bytes.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/batch_table.h"
#include "planner/plan/trial.h"
#include "planner/plan/warm_up.h"

namespace memplan {
namespace {

// Why a trial's figure counts as it does: a repeat of the answer verifies it.
Provenance ProvenanceOf(const Trial& trial) {
  return trial.purpose == TrialPurpose::kVerify ? Provenance::kVerified
                                                : Provenance::kMeasured;
}

bool RanAt(const Trial& trial, int64_t batch) {
  return trial.batch == batch && trial.outcome == TrialOutcome::kFits;
}

using Figure = std::function<std::optional<Bytes>(const Trial&)>;

// The largest figure that a trial of `batch` showed; of equal ones a verified
// one, then the first.
std::optional<Quantity> Largest(std::span<const Trial> trials, int64_t batch,
                                const Figure& figure) {
  std::optional<Quantity> largest;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (!RanAt(trials[i], batch)) continue;
    const std::optional<Bytes> bytes = figure(trials[i]);
    if (!bytes.has_value()) continue;
    const Quantity quantity = {.bytes = *bytes,
                               .provenance = ProvenanceOf(trials[i]),
                               .trial_number = static_cast<int>(i) + 1};
    const bool better = !largest.has_value() ||
                        quantity.bytes > largest->bytes ||
                        (quantity.bytes == largest->bytes &&
                         quantity.provenance > largest->provenance);
    if (better) largest = quantity;
  }
  return largest;
}

// A figure of the steady step; unset if the trial has none.
template <typename Choose>
std::optional<Bytes> SteadyFigure(const Trial& trial, Choose&& choose) {
  const int steady = SteadyStep(trial);
  if (steady < 0) return std::nullopt;
  return choose(trial.steps[steady].peaks);
}

// How the trial warmed up that shows the steady step's peak.
std::optional<WarmUp> WarmUpBefore(const std::optional<Quantity>& steady_peak,
                                   std::span<const Trial> trials) {
  if (!steady_peak) return std::nullopt;
  std::optional<WarmUp> warm_up =
      WarmUpOf(trials[steady_peak->trial_number - 1]);
  if (warm_up) warm_up->trial_number = steady_peak->trial_number;
  return warm_up;
}

void FillQuantities(std::span<const Trial> trials, Plan& plan) {
  const auto largest = [&](const Figure& figure) {
    return Largest(trials, plan.answer.safe_batch, figure);
  };
  plan.peak_requested =
      largest([](const Trial& trial) { return TrialPeaks(trial).requested; });
  plan.peak_allocated =
      largest([](const Trial& trial) { return TrialPeaks(trial).allocated; });
  plan.peak_active =
      largest([](const Trial& trial) { return TrialPeaks(trial).active; });
  plan.peak_reserved =
      largest([](const Trial& trial) { return TrialPeaks(trial).reserved; });
  plan.steady_peak_allocated = largest([](const Trial& trial) {
    return SteadyFigure(trial, [](const Peaks& peaks) {
      return std::optional<Bytes>(peaks.allocated);
    });
  });
  plan.steady_peak_reserved = largest([](const Trial& trial) {
    return SteadyFigure(trial,
                        [](const Peaks& peaks) { return peaks.reserved; });
  });
  plan.warm_up = WarmUpBefore(plan.steady_peak_allocated, trials);
  plan.context = largest([](const Trial& trial) { return trial.context; });
  plan.fragmentation = largest(Fragmentation);
  const std::optional<Quantity>& decisive =
      plan.peak_reserved.has_value() ? plan.peak_reserved : plan.peak_allocated;
  if (decisive.has_value()) {
    plan.peak_step = PeakStep(trials[decisive->trial_number - 1]);
  }
  if (plan.fragmentation.has_value() && plan.peak_reserved.has_value() &&
      plan.peak_reserved->bytes > Bytes(0)) {
    plan.fragmentation_ratio =
        static_cast<double>(plan.fragmentation->bytes.count()) /
        static_cast<double>(plan.peak_reserved->bytes.count());
  }
}

// What the trial of the allocated peak shows beside its figures.
void FillAttribution(std::span<const Trial> trials, Plan& plan) {
  if (!plan.peak_allocated) return;
  const Trial& trial = trials[plan.peak_allocated->trial_number - 1];
  plan.peak_request = trial.peak_request;
  plan.contents_dependence = trial.contents_dependence;
  if (!plan.contents_dependence || !plan.predicted ||
      !plan.predicted->safe_interval) {
    return;
  }
  PeakInterval& interval = *plan.predicted->safe_interval;
  interval.allocated.most += plan.contents_dependence->at_peak;
  interval.reserved.most += plan.contents_dependence->at_peak;
}

// How `batch` would end; nothing if it was not replayed.
std::optional<Neighbour> Predicted(const PredictedAnswer& predicted,
                                   int64_t batch) {
  if (batch < std::max<int64_t>(predicted.checked_from, 1) ||
      batch > predicted.checked_to) {
    return std::nullopt;
  }
  const bool runs =
      batch <= predicted.safe.batch ||
      std::any_of(
          predicted.running_above.begin(), predicted.running_above.end(),
          [batch](const PredictedBatch& b) { return b.batch == batch; });
  return Neighbour{
      .batch = batch,
      .outcome = runs ? TrialOutcome::kFits : TrialOutcome::kOutOfMemory,
      .trial_number = 0};
}

std::vector<Neighbour> Neighbours(
    std::span<const Trial> trials, int64_t safe_batch,
    const std::optional<PredictedAnswer>& predicted) {
  const BatchTable table(trials);
  std::vector<Neighbour> neighbours;
  for (int64_t offset : {-2, -1, 1, 2}) {
    const BatchRecord* record = table.Find(safe_batch + offset);
    if (record == nullptr) {
      if (!predicted) continue;
      const auto neighbour = Predicted(*predicted, safe_batch + offset);
      if (neighbour) neighbours.push_back(*neighbour);
      continue;
    }
    const Trial& trial = trials[record->deciding_trial];
    neighbours.push_back(
        {.batch = trial.batch,
         .outcome = trial.outcome,
         .trial_number = static_cast<int>(record->deciding_trial) + 1});
  }
  return neighbours;
}

}  // namespace

Plan MakePlan(const SearchAnswer& answer, std::span<const Trial> trials,
              std::optional<PredictedAnswer> predicted) {
  Plan plan;
  plan.answer = answer;
  plan.verified = answer.safe_batch > 0 && answer.verifying_trials > 0;
  plan.trial_count = static_cast<int>(trials.size());
  for (const Trial& trial : trials) {
    plan.seconds += trial.seconds;
    if (trial.outcome == TrialOutcome::kOutOfMemory) ++plan.out_of_memory_count;
    if (trial.purpose == TrialPurpose::kRecord) ++plan.recording_trials;
  }
  plan.predicted = std::move(predicted);
  if (answer.safe_batch == 0) return plan;
  FillQuantities(trials, plan);
  FillAttribution(trials, plan);
  plan.neighbours = Neighbours(trials, answer.safe_batch, plan.predicted);
  return plan;
}

}  // namespace memplan
