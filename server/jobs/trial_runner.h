// Runs trials. The one place where the job queue meets real processes; tests
// put a table of outcomes behind it.
#ifndef MEMPLAN_SERVER_JOBS_TRIAL_RUNNER_H_
#define MEMPLAN_SERVER_JOBS_TRIAL_RUNNER_H_

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/worker_session.h"

namespace memplan {

// One way for another thread to stop a trial: a descriptor that becomes readable.
// Thread-safe.
class CancelSignal {
 public:
  CancelSignal();
  ~CancelSignal();
  CancelSignal(const CancelSignal&) = delete;
  CancelSignal& operator=(const CancelSignal&) = delete;

  void Cancel();
  bool cancelled() const { return cancelled_; }
  // Readable once Cancel was called; −1 if the process had no descriptor left,
  // so that a trial runs to its end before the signal is seen.
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;  // an eventfd
  std::atomic<bool> cancelled_ = false;
};

class TrialRunner {
 public:
  virtual ~TrialRunner() = default;

  // Runs one trial in a fresh process; blocks until it has ended and its
  // process is gone. `on_progress` is called on this thread. A worker that
  // dies, hangs or speaks nonsense is an outcome, not an error. Errors:
  // kCancelled; kFailedPrecondition (WORKER_UNUSABLE: the worker is missing, not
  // executable, lacks its libraries or speaks another protocol; the message has
  // the path and the next step); kResourceExhausted (HOST_EXHAUSTED: no memory
  // or descriptors for a process). Thread-safe.
  virtual absl::StatusOr<TrialResult> Run(
      const TrialOrder& order, CancelSignal& cancel,
      const OnWorkerProgress& on_progress) = 0;

  // Starts a process for several orders. `cancel` ends whichever it is at; both
  // it and the runner must outlive the session. Errors: those of Run.
  // Thread-safe.
  virtual absl::StatusOr<std::unique_ptr<WorkerSession>> Begin(
      const SessionOrder& order, CancelSignal& cancel) = 0;

  // OK if a worker could be started now, else what Run would say.
  virtual absl::Status CheckUsable() const = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_TRIAL_RUNNER_H_
