// One worker process that takes several orders, one after the other.
//
//   Begin ─▶ Prepare ─▶ Run ─▶ Run ─▶ RunCalls ─▶ Prepare ─▶ End, or destroyed
//              └────── works on while the caller does something else
//
// All orders are of the program that the first one names. A session is believed
// in nothing: its worker may die at any moment, which the next order tells.
#ifndef MEMPLAN_SERVER_JOBS_WORKER_SESSION_H_
#define MEMPLAN_SERVER_JOBS_WORKER_SESSION_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

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

// What decides how the process of a worker is started.
struct SessionOrder {
  std::string device_id;
  gpu::DeviceKind device = gpu::DeviceKind::kCpu;
  int niceness = 0;  // 0 to 19
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

// What a worker that got ready says of its device.
struct PreparedWorker {
  gpu::Prepared device;
  std::string worker_version;  // libtorch's
};

// Operators for a worker to run, each alone.
struct CallsOrder {
  gpu::RunCalls calls;
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

using OnWorkerProgress = std::function<void(const gpu::Progress&)>;

// Not thread-safe: one thread gives its orders. Only Interrupt and the
// CancelSignal that it was begun with may come from another.
class WorkerSession {
 public:
  // Its process is gone when this returns, whatever it did.
  virtual ~WorkerSession() = default;

  // Has the worker open its device and get ready for `order`, and returns at
  // once. Batch and steps count for a rehearsal only.
  virtual void Prepare(const TrialOrder& order,
                       gpu::Preparation preparation) = 0;
  // What came of it; waits for that. Errors: those of Run, and kUnavailable if
  // the worker died, hung or could not load the model.
  virtual absl::StatusOr<PreparedWorker> WaitUntilPrepared() = 0;

  // Runs one trial; blocks until it has ended, and the process with it unless
  // `order.request.stay`. `on_progress` is called on this thread. What became of
  // a Prepare that failed is the trial. Errors: those of TrialRunner::Run, and
  // kCancelled after Interrupt.
  virtual absl::StatusOr<TrialResult> Run(
      const TrialOrder& order, const OnWorkerProgress& on_progress) = 0;

  // Runs operators in a worker that stayed; blocks. As many results as calls.
  // Errors: kCancelled; kUnavailable if the worker died, hung or spoke nonsense:
  // then its process is gone.
  virtual absl::StatusOr<gpu::CallsReport> RunCalls(
      const CallsOrder& order) = 0;

  // Has the worker exit, and waits for that; kills one that lingers.
  virtual void End() = 0;

  // Ends the order that is being carried out, or else the next one, and the
  // process with it. Does not wait. From any thread.
  virtual void Interrupt() = 0;

  // False once no order can be given any more.
  virtual bool TakesOrders() const = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_WORKER_SESSION_H_
