// The job queue with its threads: one does what callers ask, in order; one a
// device runs its probes; one calls the watchers. A probe is changed by one
// thread at a time: whoever took it out of its device's line.
#ifndef MEMPLAN_SERVER_JOBS_STORED_PROBE_JOBS_H_
#define MEMPLAN_SERVER_JOBS_STORED_PROBE_JOBS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/base/timers.h"
#include "server/base/work_queue.h"
#include "server/jobs/device_room.h"
#include "server/jobs/probe_execution.h"
#include "server/jobs/probe_jobs.h"
#include "server/jobs/probe_table.h"
#include "server/jobs/probe_trials.h"
#include "server/jobs/probe_watchers.h"
#include "server/jobs/program_pins.h"
#include "server/store/model_store.h"
#include "server/store/probe_store.h"

namespace memplan {

class StoredProbeJobs : public ProbeJobs {
 public:
  StoredProbeJobs(Options options, ProbeStore& store, ModelStore& models,
                  TrialRunner& runner);
  ~StoredProbeJobs() override;

  // Takes over what the store holds and starts to work. Call it once, first.
  absl::Status Load();

  void Create(ProbeSpec spec, std::string request_id,
              ProbeCallback done) override;
  ProbePtr Get(std::string_view id) const override;
  std::vector<ProbePtr> List() const override;
  void Cancel(std::string_view id, ProbeCallback done) override;
  void Delete(std::string_view id, StatusCallback done) override;
  std::unique_ptr<Subscription> Watch(
      std::string_view id, std::function<void(ProbePtr)> on_change) override;
  std::unique_ptr<Subscription> WhenEnded(
      std::string_view id, std::function<void(ProbePtr)> on_end) override;
  JobCounts Counts() const override;
  void Drain(std::chrono::steady_clock::time_point deadline) override;
  void Stop() override;

 private:
  // A probe that its device's thread runs. `by_user` tells a cancelled probe
  // from one that the daemon's end cut short.
  struct RunningProbe {
    std::string id;
    CancelSignal signal;
    int workers_at_once = 1;  // const once it runs
    bool by_user = false;     // under mutex_
  };

  // What callers asked for; on the requests' thread.
  absl::StatusOr<ProbePtr> CreateNow(ProbeSpec spec, std::string request_id);
  absl::StatusOr<ProbePtr> CancelNow(const std::string& id);
  absl::StatusOr<ProbePtr> CancelQueued(Probe probe);
  absl::Status DeleteNow(const std::string& id);
  void ForgetOldProbes();
  void SweepLater();

  // A probe from the store, as it stands after the daemon's start.
  Probe TakenOver(Probe probe);

  // A device's thread; what it does about its line is in stored_probe_line.cc.
  void RunDevice(const std::string& device_id);
  std::optional<DeviceReading> ReadDevice(const std::string& device_id);
  void WaitForAChange(std::unique_lock<std::mutex>& lock);
  // With mutex_ held: the next probe that may run; says of those before it what
  // they wait for.
  ProbePtr TakeRunnable(const std::string& device_id,
                        const std::optional<DeviceReading>& reading,
                        HeldRoom& held);
  // What is missing for `probe`, or nothing with its room in `held`.
  std::optional<WaitingFor> HoldRoom(
      const Probe& probe, const std::optional<DeviceReading>& reading,
      HeldRoom& held) const;

  // The same thread, about the probe that it took.
  void RunProbe(Probe probe, RunningProbe& running,
                const std::optional<DeviceReading>& reading);
  void CheckDevice(Probe& probe, const DeviceReading& reading);
  ProbeEnding Execute(Probe& probe, RunningProbe& running,
                      const std::optional<DeviceReading>& reading,
                      Dismissals& dismissals);
  // Reads what others leave of the device; empty if no device is read.
  std::function<std::optional<Bytes>(OwnWorkers)> RoomReader(
      const std::string& device_id) const;
  bool Pause(std::chrono::milliseconds length, const RunningProbe& running);
  void BeginAnew(Probe& probe, std::string why);
  void KeepTrial(Probe& probe, const Trial& trial, const std::string& version);
  std::string TracePath(const Probe& probe, int number);
  void End(Probe& probe, ProbeEnding ending);
  absl::Status Save(const Probe& probe);

  // With mutex_ held.
  void StartThreadFor(const std::string& device_id);
  void TellWatchers();
  void CancelRunning();
  std::string NewId() const;

  // Makes `probe` the current version, and tells the watchers.
  void Publish(const Probe& probe);

  const Options options_;
  ProbeStore& store_;
  ModelStore& models_;
  TrialRunner& runner_;

  mutable std::mutex mutex_;
  std::condition_variable work_changed_;
  ProbeTable table_;                              // under mutex_
  std::map<std::string, ProgramPins> pins_;       // under mutex_
  std::map<std::string, RunningProbe*> running_;  // by device, too
  std::map<std::string, std::thread> threads_;    // by device, too
  JobCounts counts_;                              // under mutex_
  int64_t arrivals_ = 0;                          // under mutex_
  bool draining_ = false;                         // under mutex_
  std::once_flag stop_once_;
  WorkerStarts starts_;

  ProbeWatchers watchers_;
  WorkQueue requests_;
  Timers timers_;  // last: its calls use all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_STORED_PROBE_JOBS_H_
