// The job queue: keeps every probe, runs one a device at a time, tells watchers.
//
//            Create          device free, has room       ends
//   (none) ─────────▶ QUEUED ─────────────────▶ RUNNING ───────▶ SUCCEEDED, FAILED
//                       │   ◀─────────────────     │                   │ aged
//                       │     daemon restarted,    │                   ▼
//                       │     trials kept          │                forgotten
//                       └──────── Cancel ──────────┴───────────▶ CANCELLED
//
// Every arrow, and every ended trial, is in the store before anybody is told of
// it.
#ifndef MEMPLAN_SERVER_JOBS_PROBE_JOBS_H_
#define MEMPLAN_SERVER_JOBS_PROBE_JOBS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/devices/device_monitor.h"
#include "server/jobs/device_room.h"
#include "server/jobs/execution_tools.h"
#include "server/jobs/retention.h"
#include "server/jobs/trial_runner.h"
#include "server/jobs/worker_patience.h"
#include "server/probe/probe.h"

namespace memplan {

class ProbeStore;
class ModelStore;

// A running total of what happened, for the metrics. Counts since start.
struct JobCounts {
  std::map<std::pair<TrialPurpose, TrialOutcome>, int64_t> trials;
  int64_t predictions_verified = 0;  // searches that were answered by one
  std::map<FallBackKind, int64_t> fall_backs;
  int64_t probes_succeeded = 0;
  int64_t probes_failed = 0;
  int64_t probes_cancelled = 0;
  int64_t queued = 0;   // now
  int64_t running = 0;  // now
  // Probes at the head of their lines, by what they wait for; now.
  std::map<WaitingReason, int64_t> waiting;
  int64_t worker_backoffs = 0;   // pauses before a trial after a worker's death
  bool workers_resting = false;  // now: too many could not be started
  int64_t probes_resumed = 0;    // went on from trials of an earlier daemon
  int64_t probes_begun_anew = 0;  // dropped such trials
  int64_t probes_forgotten = 0;   // by age or number
};

// Thread-safe. No method blocks but the destructor and Stop; callbacks run on
// the queue's own threads and must not block either. `store`, `models` and
// `runner` must outlive it.
class ProbeJobs {
 public:
  using ProbePtr = std::shared_ptr<const Probe>;
  using ProbeCallback = std::function<void(absl::StatusOr<ProbePtr>)>;
  using StatusCallback = std::function<void(absl::Status)>;

  // Reads one device, beginning now; waits for its driver a while.
  using ReadDevice = std::function<DeviceReading(const std::string& id)>;

  struct Options {
    int max_queued = 1000;  // probes waiting, all devices together
    Retention retention = {};
    WorkerPatience workers = {};
    // Asked before a probe starts, and around trials, on its device's thread.
    // Empty: probes start whatever the devices have left.
    ReadDevice read_device = {};
    // Whose the processes on GPUs are. Empty: nobody can tell.
    OwnerOf owner_of = {};
    // Asked before a probe starts for which the reading has room: holds that
    // until what it returns is gone, or says what is missing. Empty: nothing is
    // held.
    using Room = std::variant<std::shared_ptr<void>, WaitingFor>;
    std::function<Room(const Probe&, const Device&)> hold_room = {};
    // Told of each probe that has ended and is saved, on its device's thread.
    std::function<void(const Probe&)> on_end = {};
    // Reads a trace that a trial left. Empty: searches only bisect.
    std::function<absl::StatusOr<Trace>(const std::string& path)> read_trace =
        {};
    // Null: what operators do is not kept from one probe to the next.
    CallResults* call_results = nullptr;
    // How often a probe that waits for its device is looked at again.
    std::chrono::milliseconds look_again = std::chrono::seconds(2);
    // How often ended probes are looked at for their age.
    std::chrono::milliseconds sweep_interval = std::chrono::minutes(1);
  };

  // Takes over what `store` holds: probes that were queued or running are
  // queued again, in their order of creation; those that were running with
  // restart_count raised and their ended trials kept. They go on from those if
  // device and worker are still what they were; if not, begun_anew_reason says
  // why they are dropped. Ended probes beyond the retention are forgotten.
  static absl::StatusOr<std::unique_ptr<ProbeJobs>> Start(Options options,
                                                          ProbeStore& store,
                                                          ModelStore& models,
                                                          TrialRunner& runner);
  virtual ~ProbeJobs() = default;

  // Queues a probe and calls `done` once it is on disk. A `request_id` (may be
  // empty) seen before gives the probe made then. The model is pinned until the
  // probe ends. kAlreadyExists (REQUEST_ID_REUSED) if that probe has another
  // spec, kNotFound (MODEL_NOT_FOUND) if the model is not stored,
  // kResourceExhausted (QUEUE_FULL), kUnavailable (SHUTTING_DOWN).
  virtual void Create(ProbeSpec spec, std::string request_id,
                      ProbeCallback done) = 0;
  // The probe as it is now, or null.
  virtual ProbePtr Get(std::string_view id) const = 0;
  // All probes, newest first.
  virtual std::vector<ProbePtr> List() const = 0;
  // Asks a probe to stop; `done` gets it as it is then. kNotFound.
  virtual void Cancel(std::string_view id, ProbeCallback done) = 0;
  // Forgets an ended probe. kNotFound, kFailedPrecondition (PROBE_NOT_ENDED).
  virtual void Delete(std::string_view id, StatusCallback done) = 0;

  // Calls `on_change` with the probe now and after each later change, in order
  // of version, never two at once, until the returned handle is destroyed; once
  // its destructor has returned, no call is running or will come (do not
  // destroy it inside `on_change`). Null if there is no such probe. After Stop,
  // `on_change` gets a null pointer as its last call.
  class Subscription {
   public:
    virtual ~Subscription() = default;
  };
  virtual std::unique_ptr<Subscription> Watch(
      std::string_view id, std::function<void(ProbePtr)> on_change) = 0;

  // Calls `on_end` once, with the probe when it has ended (soon, if it has), or
  // with null at Stop. The handle as that of Watch. Costs nothing while the
  // probe changes. Null if there is no such probe.
  virtual std::unique_ptr<Subscription> WhenEnded(
      std::string_view id, std::function<void(ProbePtr)> on_end) = 0;

  virtual JobCounts Counts() const = 0;

  // From now on no trial starts and Create is refused (SHUTTING_DOWN). Trials
  // that run may end, and are kept, until `deadline`; those that still run then
  // are cancelled. Returns when none runs, at the latest soon after `deadline`
  // (a killed worker may take ten seconds more if a driver holds it; Stop waits
  // for that, this does not). What has not ended stays in the store as RUNNING
  // or QUEUED with its ended trials, and goes on at the next start. Reads,
  // Cancel, Delete, watches and waits work until Stop. Call it before Stop, from
  // any thread, or not at all: Stop alone is a Drain without patience.
  virtual void Drain(std::chrono::steady_clock::time_point deadline) = 0;

  // Cancels what still runs as Drain does, answers the calls in line, ends
  // watches and waits, and waits for the threads. Later calls do nothing.
  virtual void Stop() = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROBE_JOBS_H_
