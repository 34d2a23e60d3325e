#include "server/workers/sandbox_check.h"

#include <fcntl.h>
#include <poll.h>

#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/messages.h"
#include "planner/base/status_macros.h"
#include "server/base/descriptor.h"
#include "server/workers/child_process.h"
#include "server/workers/worker_output.h"

namespace memplan {
namespace {

constexpr size_t kMaxAnswerBytes = 16 << 10;
constexpr size_t kToldBytes = 600;

bool IsReadable(int descriptor) {
  pollfd wait = {.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&wait, 1, 0) > 0;
}

}  // namespace

absl::StatusOr<std::vector<gpu::SandboxLayer>> CheckSandbox(
    const SandboxCheckOrder& order) {
  MEMPLAN_ASSIGN_OR_RETURN(WorkerOutput answer, WorkerOutput::Create());
  MEMPLAN_ASSIGN_OR_RETURN(WorkerOutput talk, WorkerOutput::Create());
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  MEMPLAN_ASSIGN_OR_RETURN(
      auto process,
      ChildProcess::Start({.program = order.program,
                           .environment = order.environment,
                           .descriptors = {nothing.get(), answer.descriptor(),
                                           talk.descriptor()},
                           .arguments = {"--sandbox-check"}}));
  const auto end = process->WaitUntil(
      std::chrono::steady_clock::now() + order.timeout, order.wake);
  const auto fault = [&](const std::string& words) {
    const std::string told = talk.Tail(kToldBytes);
    return absl::FailedPreconditionError(
        absl::StrCat(order.program, " --sandbox-check ", words,
                     told.empty() ? "" : ": ", told));
  };
  if (!end) {
    process->Kill();
    if (IsReadable(order.wake)) return absl::CancelledError("given up");
    return fault(
        absl::StrCat("did not end within ", order.timeout.count(), " ms"));
  }
  if (*end != ChildEnd{}) {
    return fault(absl::StrCat(
        end->by_signal ? "was killed by signal " : "ended with code ",
        end->number));
  }
  auto message = gpu::DecodeWorkerMessage(answer.Tail(kMaxAnswerBytes));
  if (!message.ok()) {
    return fault(absl::StrCat("gave an answer that cannot be read (",
                              std::string(message.status().message()), ")"));
  }
  if (auto* sandboxed = std::get_if<gpu::Sandboxed>(&*message)) {
    return std::move(sandboxed->layers);
  }
  return fault("answered something else");
}

}  // namespace memplan
