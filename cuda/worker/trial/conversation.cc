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
// A worker may be started, or prepared, long before it is needed.
constexpr std::chrono::hours kOrderWait(24);

constexpr int kExitOrphaned = 3;

}  // namespace

void Conversation::EndWithTheDaemon() {
  std::thread([this] {
    pollfd channel = {.fd = socket_, .events = POLLRDHUP, .revents = 0};
    while (poll(&channel, 1, -1) < 0 && errno == EINTR) {
    }
    _exit(answered_ ? 0 : kExitOrphaned);
  }).detach();
}

absl::StatusOr<DaemonMessage> Conversation::Begin(
    const std::string& torch_version) {
  Hello hello;
  hello.pid = getpid();
  hello.torch_version = torch_version;
  MEMPLAN_RETURN_IF_ERROR(Send(hello));
  MEMPLAN_ASSIGN_OR_RETURN(DaemonMessage order, Receive(kOrderWait));
  if (std::holds_alternative<TrialRequest>(order) ||
      std::holds_alternative<Prepare>(order)) {
    return order;
  }
  return absl::InvalidArgumentError("the first message names no program");
}

absl::StatusOr<DaemonMessage> Conversation::NextOrder() {
  auto order = std::exchange(early_, std::nullopt);
  // A proceed may come when the run no longer waits for it.
  while (!order.has_value() || std::holds_alternative<Proceed>(*order)) {
    MEMPLAN_ASSIGN_OR_RETURN(order, Receive(kOrderWait));
  }
  answered_ = false;
  return *std::move(order);
}

absl::StatusOr<DaemonMessage> Conversation::Receive(
    std::chrono::milliseconds wait) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string json,
                           ReadFrame(socket_, Clock::now() + wait));
  return DecodeDaemonMessage(json);
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
  auto message = Receive(proceed_wait_);
  if (message.ok()) early_ = *std::move(message);
}

absl::Status Conversation::Answer(const WorkerMessage& answer) {
  answered_ = true;
  return Send(answer);
}

absl::Status Conversation::Send(const WorkerMessage& message) {
  return WriteFrame(socket_, Encode(message), Clock::now() + kSendWait);
}

}  // namespace memplan::gpu
