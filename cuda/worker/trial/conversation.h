// The worker's side of the conversation with the daemon (messages.h): hello,
// one request in, progress out, a pause when the memory has settled, the report.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_CONVERSATION_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_CONVERSATION_H_

#include <atomic>
#include <chrono>
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
  // whatever its other threads do. The conversation must not be destroyed
  // after.
  void EndWithTheDaemon();

  // Says hello and waits for the request, as long as the daemon lives. Returns
  // kInvalidArgument if what comes is no request.
  absl::StatusOr<TrialRequest> Begin(const std::string& torch_version);

  // Says which layers hold the model from now on.
  absl::Status TellSandbox(const std::vector<SandboxLayer>& layers);

  // Errors of the channel are dropped: EndWithTheDaemon sees to them.
  void OnProgress(const Progress& progress) override;
  void OnSettled(const Settled& settled) override;

  // Sends the report, the last message.
  absl::Status End(const Report& report);

 private:
  absl::Status Send(const WorkerMessage& message);

  const int socket_;
  const std::chrono::milliseconds proceed_wait_;
  std::atomic<bool> ended_ = false;  // the report is on its way
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_CONVERSATION_H_
