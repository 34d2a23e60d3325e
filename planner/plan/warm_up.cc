#include "planner/plan/warm_up.h"

#include <optional>

#include "planner/base/bytes.h"
#include "planner/plan/trial.h"

namespace memplan {

// Steps of kind kStep are a trial's first.
std::optional<WarmUp> WarmUpOf(const Trial& trial) {
  const int steady = SteadyStep(trial);
  if (steady < 0) return std::nullopt;
  const Bytes settled_peak = trial.steps[steady].peaks.requested;
  int warm = steady;
  while (warm > 0 && trial.steps[warm - 1].peaks.requested == settled_peak) {
    --warm;
  }
  return WarmUp{.steps = warm,
                .settled = warm < steady,
                .first_seconds = trial.steps.front().seconds,
                .steady_seconds = trial.steps[steady].seconds};
}

}  // namespace memplan
