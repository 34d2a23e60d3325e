// The job queue: keeps every probe, runs one a device at a time, tells watchers.
//
//            Create              device free             ends
//   (none) ─────────▶ QUEUED ─────────────────▶ RUNNING ───────▶ SUCCEEDED, FAILED
//                       │   ◀─────────────────     │
//                       │     daemon restarted     │
//                       └──────── Cancel ──────────┴───────────▶ CANCELLED
//
// Every arrow is in the store before anybody is told of it.
#ifndef MEMPLAN_SERVER_JOBS_PROBE_JOBS_H_
#define MEMPLAN_SERVER_JOBS_PROBE_JOBS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/trial_runner.h"
#include "server/probe/probe.h"

namespace memplan {

class ProbeStore;
class ModelStore;

// A running total of what happened, for the metrics. Counts since start.
struct JobCounts {
  // By outcome, in TrialOutcome's order.
  std::vector<int64_t> trials_by_outcome;
  int64_t probes_succeeded = 0;
  int64_t probes_failed = 0;
  int64_t probes_cancelled = 0;
  int64_t queued = 0;   // now
  int64_t running = 0;  // now
};

// Thread-safe. No method blocks but the destructor and Stop; callbacks run on
// the queue's own threads and must not block either. `store`, `models` and
// `runner` must outlive it.
class ProbeJobs {
 public:
  using ProbePtr = std::shared_ptr<const Probe>;
  using ProbeCallback = std::function<void(absl::StatusOr<ProbePtr>)>;
  using StatusCallback = std::function<void(absl::Status)>;

  struct Options {
    int max_queued = 1000;  // probes waiting, all devices together
  };

  // Takes over what `store` holds: probes that were queued or running are
  // queued again, in their order of creation; those that were running with
  // their trials dropped and restart_count raised.
  static absl::StatusOr<std::unique_ptr<ProbeJobs>> Start(Options options,
                                                          ProbeStore& store,
                                                          ModelStore& models,
                                                          TrialRunner& runner);
  virtual ~ProbeJobs() = default;

  // Queues a probe and calls `done` once it is on disk. A `request_id` (may be
  // empty) seen before gives the probe made then, whatever its spec. The model
  // is pinned until the probe ends. kNotFound (MODEL_NOT_FOUND) if it is not
  // stored, kResourceExhausted (QUEUE_FULL), kUnavailable (SHUTTING_DOWN).
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

  virtual JobCounts Counts() const = 0;

  // Refuses new probes, stops running trials (their workers are killed; the
  // probes stay in the store as running, to be begun anew at the next start),
  // ends watches, waits for the threads. Later calls do nothing.
  virtual void Stop() = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROBE_JOBS_H_
