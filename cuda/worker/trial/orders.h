// The orders of one worker, carried out one after the other until it is to end.
// Knows what goes on from what and what begins anew; what a model, a device and
// an operator call are is behind interfaces.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_ORDERS_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_ORDERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/conversation.h"
#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/execution.h"
#include "cuda/worker/trial/recorder.h"
#include "cuda/worker/trial/trial.h"

namespace memplan::gpu {

// What orders are carried out with. Implemented with torch, in tests by a table.
// Its methods do not throw.
class Workshop {
 public:
  virtual ~Workshop() = default;
  virtual std::unique_ptr<Execution> MakeExecution(
      const TrialRequest& request) = 0;
  // Loads the program of `request` and runs some of its steps, so that libraries
  // and kernels are there for what follows; gives all of it up. How it goes does
  // not matter. As of RunEach.
  virtual void Rehearse(const TrialRequest& request) = 0;
  // Has the device's libraries load what operators need at their first use. As of
  // RunEach.
  virtual void OpenLibraries() = 0;
  // One result for each call. No execution is alive, and the device is as Renew
  // leaves it.
  virtual CallsReport RunEach(const RunCalls& order) = 0;
};

// The program that all orders are of.
struct Program {
  TrialRequest request;
  std::optional<int64_t> traced_batch;
};

// Not thread-safe. All that it is made of outlives it.
class Orders {
 public:
  Orders(Program program, Workshop& workshop, Device& device,
         Recorder& recorder, Conversation& conversation)
      : program_(std::move(program)),
        workshop_(workshop),
        device_(device),
        recorder_(recorder),
        conversation_(conversation) {}

  // Carries out `first` and what follows, until the worker is to end with 0.
  // Returns errors of the channel, kInvalidArgument for an order that does not
  // go with those before, kFailedPrecondition if something of a program cannot
  // be given up, so that what follows would not be as in a fresh process.
  absl::Status Serve(DaemonMessage first);

 private:
  enum class Next { kWait, kEnd };

  absl::StatusOr<Next> CarryOut(const DaemonMessage& order);
  absl::StatusOr<Next> CarryOut(const TrialRequest& request);
  absl::StatusOr<Next> CarryOut(const Prepare& order);
  absl::StatusOr<Next> PrepareProgram(const TrialRequest& program);
  absl::StatusOr<Next> CarryOut(const RunCalls& order);

  absl::Status CheckProgram(const TrialRequest& request) const;
  // `request` in the sandbox that is in force.
  TrialRequest AsShutIn(const TrialRequest& request) const;
  // Loads unless the program is loaded, under the cap of `request`.
  absl::Status Load(const TrialRequest& request);
  // Lets go of everything of the program before.
  absl::Status Renew(std::optional<Bytes> cap);
  Report Finished(Report report) const;

  const Program program_;
  Workshop& workshop_;
  Device& device_;
  Recorder& recorder_;
  Conversation& conversation_;
  bool is_fresh_ = true;  // nothing has been done in this process
  std::unique_ptr<Execution> execution_;
  std::unique_ptr<LoadResult> prepared_;  // by the order before
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_ORDERS_H_
