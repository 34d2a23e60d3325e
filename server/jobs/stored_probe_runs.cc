// What the devices' threads do: take the next probe, run it, keep what came of
// it, in the store first.
//
// If the store cannot be written, a probe that was about to begin, or has just
// ended, is told as failed with the store's error; on disk it still stands as it
// was, so that the next start of the daemon runs it again. A trial in between
// that cannot be saved is only logged: the next save has it too.
#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/jobs/stored_probe_jobs.h"

namespace memplan {

void StoredProbeJobs::RunDevice(const std::string& device_id) {
  std::unique_lock lock(mutex_);
  while (true) {
    ProbePtr next;
    work_changed_.wait(lock, [&] {
      return stopping_ || (next = table_.TakeNext(device_id)) != nullptr;
    });
    if (stopping_) return;
    RunningProbe running;
    running.id = next->id;
    running_[device_id] = &running;
    lock.unlock();
    RunProbe(*next, running);
    lock.lock();
    running_.erase(device_id);
    table_.Release(device_id);
    TellWatchers();
  }
}

void StoredProbeJobs::RunProbe(Probe probe, RunningProbe& running) {
  probe.state = ProbeState::kRunning;
  probe.start_time = std::chrono::system_clock::now();
  probe.queue_position = 0;
  ++probe.version;
  if (absl::Status status = Save(probe); !status.ok()) {
    End(probe, {ProbeState::kFailed, {}, ToProbeError(status)});
    return;
  }
  Publish(probe);
  ProbeEnding ending = Execute(probe, running);
  if (ending.state == ProbeState::kCancelled) {
    const std::lock_guard lock(mutex_);
    // Cut short by Stop: it stays as it is in the store, to be begun anew.
    if (!running.by_user) return;
  }
  End(probe, std::move(ending));
}

ProbeEnding StoredProbeJobs::Execute(Probe& probe, RunningProbe& running) {
  return ExecuteProbe(
      probe.spec,
      {.runner = runner_,
       .cancel = running.signal,
       .model_path = models_.Path(probe.spec.model_sha256),
       .trace_path = [&](int number) { return TracePath(probe, number); },
       .on_progress =
           [&](const ProbeProgress& progress) {
             probe.progress = progress;
             ++probe.version;
             Publish(probe);
           },
       .on_trial = [&](const Trial& trial) { KeepTrial(probe, trial); }});
}

void StoredProbeJobs::KeepTrial(Probe& probe, const Trial& trial) {
  probe.trials.push_back(trial);
  ++probe.version;
  (void)Save(probe);
  const std::lock_guard lock(mutex_);
  ++counts_.trials_by_outcome[static_cast<size_t>(trial.outcome)];
  table_.Update(probe);
  TellWatchers();
}

std::string StoredProbeJobs::TracePath(const Probe& probe, int number) {
  const auto path = store_.TracePath(probe.id, number);
  if (path.ok()) return *path;
  spdlog::warn("trial {} of probe {} keeps no trace: {}", number, probe.id,
               std::string(path.status().message()));
  return "";
}

void StoredProbeJobs::End(Probe& probe, ProbeEnding ending) {
  probe.state = ending.state;
  probe.plan = std::move(ending.plan);
  probe.error = std::move(ending.error);
  probe.end_time = std::chrono::system_clock::now();
  probe.progress.reset();
  probe.queue_position = 0;
  ++probe.version;
  if (absl::Status status = Save(probe); !status.ok()) {
    probe.state = ProbeState::kFailed;
    probe.plan.reset();
    probe.error = ToProbeError(status);
    absl::StrAppend(&probe.error->message,
                    "; the probe ended, but its end is not kept: the daemon's "
                    "next start runs it again");
  }
  const std::lock_guard lock(mutex_);
  pins_.erase(probe.id);
  if (probe.state == ProbeState::kSucceeded) ++counts_.probes_succeeded;
  if (probe.state == ProbeState::kFailed) ++counts_.probes_failed;
  if (probe.state == ProbeState::kCancelled) ++counts_.probes_cancelled;
  table_.Update(probe);
  TellWatchers();
}

absl::Status StoredProbeJobs::Save(const Probe& probe) {
  absl::Status status = store_.Save(probe);
  if (!status.ok()) {
    spdlog::error("probe {} is not saved: {}", probe.id,
                  std::string(status.message()));
  }
  return status;
}

}  // namespace memplan
