#include "server/probe/probe.h"

#include <algorithm>

namespace memplan {

bool HasEnded(ProbeState state) {
  switch (state) {
    case ProbeState::kQueued:
    case ProbeState::kRunning:
      return false;
    case ProbeState::kSucceeded:
    case ProbeState::kFailed:
    case ProbeState::kCancelled:
      return true;
  }
  return false;
}

KnownBatches BatchesKnownFrom(std::span<const Trial> trials) {
  KnownBatches known;
  for (const Trial& trial : trials) {
    if (trial.outcome == TrialOutcome::kFits) {
      known.largest_running = std::max(known.largest_running, trial.batch);
    } else if (known.smallest_failing == 0 ||
               trial.batch < known.smallest_failing) {
      known.smallest_failing = trial.batch;
    }
  }
  return known;
}

}  // namespace memplan
