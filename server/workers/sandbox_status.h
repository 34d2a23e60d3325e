// Whether workers are shut in, and by what: the mode an operator chose and the
// layers as a worker last told them. Plain values.
#ifndef MEMPLAN_SERVER_WORKERS_SANDBOX_STATUS_H_
#define MEMPLAN_SERVER_WORKERS_SANDBOX_STATUS_H_

#include <string>
#include <string_view>
#include <vector>

#include "cuda/worker/messages/sandbox_layer.h"
#include "server/base/server_status.h"

namespace memplan {

enum class SandboxMode {
  kOff,
  kAuto,     // what the kernel offers; what it lacks is told
  kRequire,  // no trial without the core layers (gpu::kCoreLayers)
};

// off, auto, require.
std::string_view SandboxModeName(SandboxMode mode);

struct SandboxStatus {
  SandboxMode mode = SandboxMode::kOff;
  // Those that the worker applies; empty until one has tried them, which takes a
  // second after the start.
  std::vector<SandboxLayer> layers;
  // Those that the daemon applies from outside, whatever the mode.
  std::vector<SandboxLayer> daemon_layers;
  // Why no worker could try them; empty if one has, or none has yet.
  std::string fault;
};

// What a worker told, in the words of the server's status.
std::vector<SandboxLayer> LayersFromWorker(
    const std::vector<gpu::SandboxLayer>& layers);

// The worker's and the daemon's.
std::vector<SandboxLayer> AllLayers(const SandboxStatus& status);

// One line for the log: `sandbox auto: landlock in force (ABI 7…), …`.
std::string SandboxLine(const SandboxStatus& status);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_SANDBOX_STATUS_H_
