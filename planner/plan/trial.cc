#include "planner/plan/trial.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "planner/base/bytes.h"

namespace memplan {
namespace {

// What a span took from the device, or came closest to it.
Bytes Footprint(const Peaks& peaks) {
  return peaks.reserved.value_or(peaks.allocated);
}

}  // namespace

Peaks MaxPeaks(const Peaks& a, const Peaks& b) {
  return {.requested = std::max(a.requested, b.requested),
          .allocated = std::max(a.allocated, b.allocated),
          .active = std::max(a.active, b.active),
          .reserved = std::max(a.reserved, b.reserved)};  // unset is smallest
}

Peaks TrialPeaks(const Trial& trial) {
  Peaks peaks = trial.load_peaks;
  for (const StepResult& step : trial.steps) {
    peaks = MaxPeaks(peaks, step.peaks);
  }
  return peaks;
}

int PeakStep(const Trial& trial) {
  int best = -1;
  Bytes most = Footprint(trial.load_peaks);
  for (size_t i = 0; i < trial.steps.size(); ++i) {
    const Bytes footprint = Footprint(trial.steps[i].peaks);
    // A step that equals the load comes before it; a later equal step does not.
    if (footprint > most || (best < 0 && footprint == most)) {
      best = static_cast<int>(i);
      most = footprint;
    }
  }
  return best;
}

int SteadyStep(const Trial& trial) {
  int steady = -1;
  for (size_t i = 0; i < trial.steps.size(); ++i) {
    if (trial.steps[i].kind == StepKind::kStep) steady = static_cast<int>(i);
  }
  return steady;
}

std::optional<Bytes> Fragmentation(const Trial& trial) {
  const int step = PeakStep(trial);
  const Peaks& peaks = step < 0 ? trial.load_peaks : trial.steps[step].peaks;
  if (!peaks.reserved.has_value()) return std::nullopt;
  return *peaks.reserved - peaks.allocated;
}

int64_t AllocationRetries(const Trial& trial) {
  int64_t retries = trial.load_allocation_retries;
  for (const StepResult& step : trial.steps) retries += step.allocation_retries;
  return retries;
}

int64_t FailedRequests(const Trial& trial) {
  int64_t failed = trial.load_failed_requests;
  for (const StepResult& step : trial.steps) failed += step.failed_requests;
  return failed;
}

}  // namespace memplan
