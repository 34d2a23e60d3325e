#include "cuda/worker/trial/conversation.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>
#include <variant>

#include "cuda/worker/messages/frame.h"
#include "planner/base/status_macros.h"

namespace memplan::gpu {
namespace {

using Clock = std::chrono::steady_clock;

// The daemon empties its end all the time; one that does not is broken.
constexpr std::chrono::seconds kSendWait(10);
// A worker may be started long before it is needed.
constexpr std::chrono::hours kRequestWait(24);

constexpr int kExitOrphaned = 3;

}  // namespace

void Conversation::EndWithTheDaemon() {
  std::thread([this] {
    pollfd channel = {.fd = socket_, .events = POLLRDHUP, .revents = 0};
    while (poll(&channel, 1, -1) < 0 && errno == EINTR) {
    }
    _exit(ended_ ? 0 : kExitOrphaned);
  }).detach();
}

absl::StatusOr<TrialRequest> Conversation::Begin(
    const std::string& torch_version) {
  Hello hello;
  hello.pid = getpid();
  hello.torch_version = torch_version;
  MEMPLAN_RETURN_IF_ERROR(Send(hello));
  MEMPLAN_ASSIGN_OR_RETURN(const std::string json,
                           ReadFrame(socket_, Clock::now() + kRequestWait));
  MEMPLAN_ASSIGN_OR_RETURN(DaemonMessage message, DecodeDaemonMessage(json));
  if (auto* request = std::get_if<TrialRequest>(&message)) {
    return std::move(*request);
  }
  return absl::InvalidArgumentError("the first message is not a request");
}

absl::Status Conversation::TellSandbox(
    const std::vector<SandboxLayer>& layers) {
  return Send(Sandboxed{layers});
}

void Conversation::OnProgress(const Progress& progress) {
  Send(progress).IgnoreError();
}

void Conversation::OnSettled(const Settled& settled) {
  if (!Send(settled).ok()) return;
  // Whatever comes, or nothing, the worker goes on.
  ReadFrame(socket_, Clock::now() + proceed_wait_).status().IgnoreError();
}

absl::Status Conversation::End(const Report& report) {
  ended_ = true;
  return Send(report);
}

absl::Status Conversation::Send(const WorkerMessage& message) {
  return WriteFrame(socket_, Encode(message), Clock::now() + kSendWait);
}

}  // namespace memplan::gpu
