// A short child that shuts itself in and says how that went: what the sandbox of
// this host's workers is worth, known before the first model comes.
#ifndef MEMPLAN_SERVER_WORKERS_SANDBOX_CHECK_H_
#define MEMPLAN_SERVER_WORKERS_SANDBOX_CHECK_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cuda/worker/messages/sandbox_layer.h"

namespace memplan {

struct SandboxCheckOrder {
  std::string program;  // path of memplan-worker
  std::vector<std::string> environment;
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  int wake = -1;  // readable once the check is to be given up
};

// Runs `program --sandbox-check`; blocks until it has ended. Errors as those of
// ChildProcess::Start; kCancelled; kFailedPrecondition, with its words, if it
// ends with another code than 0, too late, or says nothing of layers.
absl::StatusOr<std::vector<gpu::SandboxLayer>> CheckSandbox(
    const SandboxCheckOrder& order);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_SANDBOX_CHECK_H_
