#include "server/metrics/model_peaks.h"

#include <algorithm>
#include <set>

namespace memplan {
namespace {

// Long enough that no two models of a store share it.
constexpr size_t kModelDigits = 12;

std::optional<double> Ratio(std::optional<Bytes> part,
                            std::optional<Bytes> whole) {
  if (!part.has_value() || !whole.has_value() || *whole <= Bytes(0)) {
    return std::nullopt;
  }
  return static_cast<double>(part->count()) /
         static_cast<double>(whole->count());
}

std::optional<ModelPeaks> PeaksOfPlan(const Plan& plan) {
  if (!plan.peak_allocated.has_value()) return std::nullopt;
  ModelPeaks peaks;
  peaks.batch = plan.answer.safe_batch;
  peaks.allocated = plan.peak_allocated->bytes;
  if (plan.peak_reserved.has_value()) {
    peaks.reserved = plan.peak_reserved->bytes;
  }
  peaks.fragmentation_ratio = plan.fragmentation_ratio;
  return peaks;
}

std::optional<ModelPeaks> PeaksOfTrials(std::span<const Trial> trials) {
  const Trial* largest = nullptr;
  for (const Trial& trial : trials) {
    if (trial.outcome != TrialOutcome::kFits) continue;
    if (largest == nullptr || trial.batch > largest->batch) largest = &trial;
  }
  if (largest == nullptr) return std::nullopt;
  const Peaks trial_peaks = TrialPeaks(*largest);
  ModelPeaks peaks;
  peaks.batch = largest->batch;
  peaks.allocated = trial_peaks.allocated;
  peaks.reserved = trial_peaks.reserved;
  peaks.fragmentation_ratio =
      Ratio(Fragmentation(*largest), trial_peaks.reserved);
  return peaks;
}

std::optional<ModelPeaks> PeaksOfProbe(const Probe& probe) {
  if (probe.state != ProbeState::kSucceeded) return std::nullopt;
  return probe.plan.has_value() ? PeaksOfPlan(*probe.plan)
                                : PeaksOfTrials(probe.trials);
}

}  // namespace

TrackedModels LatestModelPeaks(
    std::span<const std::shared_ptr<const Probe>> probes, size_t most) {
  TrackedModels tracked;
  std::set<std::string> seen;
  for (const std::shared_ptr<const Probe>& probe : probes) {
    if (seen.contains(probe->spec.model_sha256)) continue;
    std::optional<ModelPeaks> peaks = PeaksOfProbe(*probe);
    if (!peaks.has_value()) continue;
    seen.insert(probe->spec.model_sha256);
    if (tracked.models.size() == most) {
      ++tracked.untracked;
      continue;
    }
    peaks->model = probe->spec.model_sha256.substr(0, kModelDigits);
    tracked.models.push_back(*std::move(peaks));
  }
  return tracked;
}

}  // namespace memplan
