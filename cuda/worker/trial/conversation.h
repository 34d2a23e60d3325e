// The worker's side of the conversation with the daemon (messages.h): hello,
// orders in and answers out, and in a run progress and a pause when the memory
// has settled.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_CONVERSATION_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_CONVERSATION_H_

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/trial.h"

namespace memplan::gpu {

// Used by one thread; its watch runs on another.
class Conversation : public TrialListener {
 public:
  // `socket` stays the caller's. `proceed_wait` is how long a settled worker
  // waits for the daemon before it goes on by itself.
  explicit Conversation(int socket, std::chrono::milliseconds proceed_wait =
                                        std::chrono::seconds(5))
      : socket_(socket), proceed_wait_(proceed_wait) {}

  // From now on the process ends at once when the daemon closes the socket,
  // whatever its other threads do: with 0 between orders. The conversation must
  // not be destroyed after.
  void EndWithTheDaemon();

  // Says hello and waits for the first order, as long as the daemon lives.
  // Returns kInvalidArgument if what comes names no program.
  absl::StatusOr<DaemonMessage> Begin(const std::string& torch_version);

  // Waits for the order after an answer. Returns kUnavailable if the daemon is
  // gone, kInvalidArgument if what comes is no order.
  absl::StatusOr<DaemonMessage> NextOrder();

  // Says which layers hold the model from now on.
  absl::Status TellSandbox(const std::vector<SandboxLayer>& layers);

  // Errors of the channel are dropped: EndWithTheDaemon sees to them.
  void OnProgress(const Progress& progress) override;
  void OnSettled(const Settled& settled) override;

  // Sends what ends an order: Prepared, Report or CallsReport.
  absl::Status Answer(const WorkerMessage& answer);

 private:
  absl::Status Send(const WorkerMessage& message);
  absl::StatusOr<DaemonMessage> Receive(std::chrono::milliseconds wait);

  const int socket_;
  const std::chrono::milliseconds proceed_wait_;
  std::optional<DaemonMessage> early_;  // an order that came for a proceed
  std::atomic<bool> answered_ = false;  // the last order
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_CONVERSATION_H_
