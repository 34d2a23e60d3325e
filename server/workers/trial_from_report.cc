#include "server/workers/trial_from_report.h"

#include <utility>

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
