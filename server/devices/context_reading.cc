#include "server/devices/context_reading.h"

#include <algorithm>
#include <vector>

namespace memplan {
namespace {

bool Lists(const Device& device, int64_t pid) {
  return std::any_of(
      device.processes.begin(), device.processes.end(),
      [pid](const DeviceProcess& process) { return process.pid == pid; });
}

// The worker among `now`'s processes: by its pid, else the only newcomer. A pid
// of ours that was there before the worker started is somebody else's under the
// host's numbering.
const DeviceProcess* FindWorker(const Device& before, const Device& now,
                                int64_t pid) {
  std::vector<const DeviceProcess*> newcomers;
  for (const DeviceProcess& process : now.processes) {
    if (!Lists(before, process.pid)) newcomers.push_back(&process);
  }
  for (const DeviceProcess* process : newcomers) {
    if (process->pid == pid) return process;
  }
  return newcomers.size() == 1 ? newcomers.front() : nullptr;
}

std::optional<ContextReading> Reading(Bytes held, Bytes reserved,
                                      std::string_view source) {
  if (held < reserved) return std::nullopt;
  return ContextReading{.context = held - reserved,
                        .source = std::string(source)};
}

}  // namespace

std::optional<ContextReading> ReadContext(const Device& before,
                                          const Device& now,
                                          const WorkerOnDevice& worker) {
  const DeviceProcess* process = FindWorker(before, now, worker.pid);
  if (process != nullptr && process->used.has_value()) {
    return Reading(*process->used, worker.reserved, kContextFromProcess);
  }
  if (!before.used.has_value() || !now.used.has_value()) return std::nullopt;
  return Reading(*now.used - *before.used, worker.reserved, kContextFromDevice);
}

}  // namespace memplan
