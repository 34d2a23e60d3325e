#include "server/probe/probe.h"

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

}  // namespace memplan
