#include "server/jobs/earlier_recordings.h"

#include <utility>

namespace memplan {
namespace {

// Memory that was short may have changed what an operator asks for.
bool IsUndisturbed(const Trial& trial) {
  return trial.purpose == TrialPurpose::kRecord &&
         trial.outcome == TrialOutcome::kFits && trial.trace_events > 0 &&
         !trial.trace_overflowed && AllocationRetries(trial) == 0 &&
         FailedRequests(trial) == 0;
}

}  // namespace

bool IsSameProgram(const ProbeSpec& a, const ProbeSpec& b) {
  return a.model_sha256 == b.model_sha256 && a.device_id == b.device_id &&
         a.inputs == b.inputs && a.dimensions == b.dimensions &&
         a.mode == b.mode && a.optimizer == b.optimizer &&
         a.run_as == b.run_as && a.steps == b.steps && a.step == b.step &&
         a.loss_model_sha256 == b.loss_model_sha256;
}

std::vector<EarlierRecording> RecordingsFor(
    const Probe& probe, const std::vector<std::shared_ptr<const Probe>>& probes,
    absl::FunctionRef<std::string(const Probe&, int number)> path) {
  for (const auto& other : probes) {
    if (other->id == probe.id || other->worker_version.empty() ||
        other->device_identity != probe.device_identity ||
        !IsSameProgram(other->spec, probe.spec)) {
      continue;
    }
    std::vector<EarlierRecording> recordings;
    for (size_t i = 0; i < other->trials.size(); ++i) {
      const Trial& trial = other->trials[i];
      if (!IsUndisturbed(trial)) continue;
      recordings.push_back({.batch = trial.batch,
                            .trace_path = path(*other, static_cast<int>(i) + 1),
                            .worker_version = other->worker_version,
                            .context = trial.context});
    }
    if (recordings.size() >= 2) return recordings;
  }
  return {};
}

}  // namespace memplan
