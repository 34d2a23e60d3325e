#include "server/workers/trial_from_report.h"

#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "cuda/worker/messages/spilled.h"

namespace memplan {
namespace {

TrialOutcome OutcomeOf(gpu::EndKind end) {
  switch (end) {
    case gpu::EndKind::kRan:
      return TrialOutcome::kFits;
    case gpu::EndKind::kOutOfMemory:
      return TrialOutcome::kOutOfMemory;
    case gpu::EndKind::kShapeRefused:
      return TrialOutcome::kShapeRefused;
    case gpu::EndKind::kSandboxRefused:
      return TrialOutcome::kSandboxRefused;
    case gpu::EndKind::kModelFailed:
    case gpu::EndKind::kBadRequest:
      return TrialOutcome::kModelFailed;
  }
  return TrialOutcome::kModelFailed;
}

// It ran, but not on the card.
void TakeForOutOfMemory(const gpu::MemorySpeed& speed, Trial& trial) {
  constexpr double kGiga = 1e9;
  trial.outcome = TrialOutcome::kOutOfMemory;
  trial.end_class = std::string(gpu::EndClassName(gpu::EndClass::kSpilled));
  trial.message = absl::StrFormat(
      "it ran, but part of its memory is read at %.1f GB/s where the card's "
      "own "
      "does %.1f: the driver put it into the host's memory rather than fail, "
      "so "
      "that it does not fit",
      speed.slowest / kGiga, speed.peak / kGiga);
}

}  // namespace

TrialResult ResultFrom(gpu::Report report) {
  TrialResult result;
  Trial& trial = result.trial;
  trial.outcome = OutcomeOf(report.end);
  if (report.end != gpu::EndKind::kRan) {
    trial.message = gpu::TrimmedMessage(report.message);
    if (report.end_class != gpu::EndClass::kNone) {
      trial.end_class = std::string(gpu::EndClassName(report.end_class));
    }
  }
  const auto& speed = report.memory_speed;
  if (report.end == gpu::EndKind::kRan && speed &&
      gpu::IsSpilled(speed->slowest, speed->peak)) {
    TakeForOutOfMemory(*speed, trial);
  }
  if (report.end == gpu::EndKind::kBadRequest) {
    result.refused = RequestRefused{std::move(report.field), trial.message};
  }
  trial.load_peaks = report.load_peaks;
  trial.steps = std::move(report.steps);
  trial.load_allocation_retries = report.load_allocation_retries;
  trial.load_failed_requests = report.load_failed_requests;
  trial.failed_while_loading = report.failed_while_loading;
  trial.traced_batch = report.traced_batch;
  trial.cap = report.cap;
  return result;
}

}  // namespace memplan
