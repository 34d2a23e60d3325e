// What a device's thread does with the probe that it took: runs it, keeps what
// comes of it, in the store first.
//
// If the store cannot be written, a probe that was about to begin, or has just
// ended, is told as failed with the store's error; on disk it still stands as it
// was, so that the next start of the daemon runs it again. A trial in between
// that cannot be saved is only logged: the next save has it too.
#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "planner/plan/plan.h"
#include "server/base/log.h"
#include "server/base/reason.h"
#include "server/jobs/stored_probe_jobs.h"

namespace memplan {
namespace {

// `, at most 3.00 GiB allocated, warm after 2 steps with 2.00 GiB`; empty if no
// step tells.
std::string StepsWords(const Plan& plan) {
  if (!plan.warm_up || !plan.steady_peak_allocated) return "";
  const std::string steady = FormatBytes(plan.steady_peak_allocated->bytes);
  const std::string worst =
      plan.peak_allocated ? FormatBytes(plan.peak_allocated->bytes) : steady;
  return absl::StrCat(
      ", at most ", worst, " allocated, ",
      plan.warm_up->settled
          ? absl::StrCat("warm after ", plan.warm_up->steps, " steps with ")
          : "not known to be steady in the last step with ",
      steady);
}

std::string EndWords(const Probe& probe) {
  if (probe.error) {
    return absl::StrCat(probe.error->reason, ": ", probe.error->message);
  }
  if (probe.state == ProbeState::kCancelled) return "cancelled";
  if (!probe.plan) return "profiled";
  return absl::StrCat("safe batch ", probe.plan->answer.safe_batch,
                      StepsWords(*probe.plan));
}

}  // namespace

void StoredProbeJobs::RunProbe(Probe probe, RunningProbe& running,
                               const std::optional<DeviceReading>& reading) {
  const LogContext log({{"probe_id", probe.id},
                        {"device", probe.spec.device_id},
                        {"model", probe.spec.model_sha256}});
  if (reading) CheckDevice(probe, *reading);
  probe.state = ProbeState::kRunning;
  probe.start_time = std::chrono::system_clock::now();
  probe.queue_position = 0;
  probe.waiting_for.reset();
  ++probe.version;
  if (absl::Status status = Save(probe); !status.ok()) {
    End(probe, {ProbeState::kFailed, {}, ToProbeError(status)});
    return;
  }
  Publish(probe);
  spdlog::info("the probe begins, with {} trials of before",
               probe.trials.size());
  // Workers whose end nobody needs to wait for, but the device's next probe: it
  // begins when this returns.
  Dismissals dismissals;
  ProbeEnding ending = Execute(probe, running, reading, dismissals);
  if (ending.state == ProbeState::kCancelled) {
    const std::lock_guard lock(mutex_);
    // Cut short by Drain or Stop: it stays as it is in the store, to go on at
    // the next start.
    if (!running.by_user) return;
  }
  End(probe, std::move(ending));
}

// Trials of another device say nothing of this one.
void StoredProbeJobs::CheckDevice(Probe& probe, const DeviceReading& reading) {
  std::string identity = DeviceIdentity(reading);
  if (identity.empty()) return;
  const std::string before =
      std::exchange(probe.device_identity, std::move(identity));
  if (before.empty() || before == probe.device_identity) return;
  if (probe.trials.empty()) return;
  BeginAnew(probe, absl::StrCat("the device is ", probe.device_identity,
                                " now; the trials were run on ", before));
}

ProbeEnding StoredProbeJobs::Execute(
    Probe& probe, RunningProbe& running,
    const std::optional<DeviceReading>& reading, Dismissals& dismissals) {
  return ExecuteProbe(
      probe.spec,
      {.runner = runner_,
       .cancel = running.signal,
       .model_path = models_.Path(probe.spec.model_sha256),
       .loss_path = probe.spec.loss_model_sha256.empty()
                        ? std::string()
                        : models_.Path(probe.spec.loss_model_sha256),
       .trace_path = [&](int number) { return TracePath(probe, number); },
       .on_progress =
           [&](const ProbeProgress& progress) {
             probe.progress = progress;
             ++probe.version;
             Publish(probe);
           },
       .on_trial =
           [&](const Trial& trial, const std::string& version) {
             KeepTrial(probe, trial, version);
           },
       .known = {probe.trials, probe.worker_version},
       .may_go_on =
           [&] {
             const std::lock_guard lock(mutex_);
             return !draining_;
           },
       .pause =
           [&](std::chrono::milliseconds length) {
             return Pause(length, running);
           },
       .on_begin_anew =
           [&](std::string why) {
             BeginAnew(probe, std::move(why));
             (void)Save(probe);
             Publish(probe);
           },
       .patience = options_.workers,
       .starts = &starts_,
       .read_trace = options_.read_trace,
       .earlier_recordings =
           [&] {
             return RecordingsFor(probe, List(),
                                  [this](const Probe& earlier, int number) {
                                    return TracePath(earlier, number);
                                  });
           },
       .call_results = options_.call_results,
       .device_free = reading ? LeftOn(*reading) : std::nullopt,
       .room = RoomReader(probe.spec.device_id),
       .workers_at_once = running.workers_at_once,
       .dismissals = &dismissals,
       .on_fall_back =
           [&](FallBackKind kind) {
             const std::lock_guard lock(mutex_);
             ++counts_.fall_backs[kind];
           }});
}

std::function<std::optional<Bytes>(OwnWorkers)> StoredProbeJobs::RoomReader(
    const std::string& device_id) const {
  if (!options_.read_device) return {};
  return [this, device_id](OwnWorkers own) {
    return RoomBesideOthers(options_.read_device(device_id), own,
                            options_.owner_of);
  };
}

bool StoredProbeJobs::Pause(std::chrono::milliseconds length,
                            const RunningProbe& running) {
  std::unique_lock lock(mutex_);
  ++counts_.worker_backoffs;
  const auto is_over = [&] { return draining_ || running.signal.cancelled(); };
  return !work_changed_.wait_for(lock, length, is_over);
}

void StoredProbeJobs::BeginAnew(Probe& probe, std::string why) {
  spdlog::info("the probe begins anew: {}", why);
  probe.trials.clear();
  probe.worker_version.clear();
  probe.begun_anew_reason = std::move(why);
  ++probe.version;
  const std::lock_guard lock(mutex_);
  ++counts_.probes_begun_anew;
}

void StoredProbeJobs::KeepTrial(Probe& probe, const Trial& trial,
                                const std::string& version) {
  probe.trials.push_back(trial);
  probe.worker_version = version;
  ++probe.version;
  (void)Save(probe);
  const std::lock_guard lock(mutex_);
  ++counts_.trials[{trial.purpose, trial.outcome}];
  table_.Update(probe);
  TellWatchers();
}

std::string StoredProbeJobs::TracePath(const Probe& probe, int number) {
  const auto path = store_.TracePath(probe.id, number);
  if (path.ok()) return *path;
  spdlog::warn("trial {} keeps no trace: {}", number,
               std::string(path.status().message()));
  return "";
}

void StoredProbeJobs::End(Probe& probe, ProbeEnding ending) {
  probe.state = ending.state;
  probe.plan = std::move(ending.plan);
  probe.error = std::move(ending.error);
  probe.end_time = std::chrono::system_clock::now();
  probe.progress.reset();
  spdlog::info("the probe has ended after {} trials: {}", probe.trials.size(),
               EndWords(probe));
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
  if (options_.on_end) options_.on_end(probe);
  const std::lock_guard lock(mutex_);
  pins_.erase(probe.id);
  if (probe.state == ProbeState::kSucceeded) ++counts_.probes_succeeded;
  if (probe.plan && probe.plan->predicted) ++counts_.predictions_verified;
  if (probe.state == ProbeState::kFailed) ++counts_.probes_failed;
  if (probe.state == ProbeState::kCancelled) ++counts_.probes_cancelled;
  requests_.Post([this] { ForgetOldProbes(); });
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
