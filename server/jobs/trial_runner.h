// Runs trials. The one place where the job queue meets real processes; tests
// put a table of outcomes behind it.
#ifndef MEMPLAN_SERVER_JOBS_TRIAL_RUNNER_H_
#define MEMPLAN_SERVER_JOBS_TRIAL_RUNNER_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/messages/messages.h"
#include "planner/plan/trial.h"

namespace memplan {

// A trial that shows no outcome, but that the probe cannot go on at all: the
// request does not go with the model. `field` is one of ProbeSpec's.
struct RequestRefused {
  std::string field;
  std::string message;
};

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

struct TrialOrder {
  gpu::TrialRequest request;
  std::string device_id;
  TrialPurpose purpose = TrialPurpose::kSearch;
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  std::string trace_path;  // where the trace is kept; empty to drop it
  int niceness = 0;        // of the process; 0 to 19
};

// What came of it: the trial, or that no trial of this request makes sense.
struct TrialResult {
  Trial trial;
  std::optional<RequestRefused> refused;
  // The libtorch that the worker said it has; empty if it said nothing.
  std::string worker_version = {};
  // The worker died before it said hello: no trial of any probe would start.
  bool never_started = false;
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
      const std::function<void(const gpu::Progress&)>& on_progress) = 0;

  // OK if a worker could be started now, else what Run would say.
  virtual absl::Status CheckUsable() const = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_TRIAL_RUNNER_H_
