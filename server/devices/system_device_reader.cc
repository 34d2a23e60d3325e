// The reader of a real node: NVML's GPUs, then the host's memory as `cpu`.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cuda/nvml/nvml_devices.h"
#include "planner/base/status_macros.h"
#include "server/devices/device_monitor.h"
#include "server/devices/host_device.h"
#include "server/devices/process_name.h"

namespace memplan {
namespace {

void NameProcesses(std::vector<Device>& devices) {
  if (!SeesHostProcesses()) return;
  for (Device& device : devices) {
    for (DeviceProcess& process : device.processes) {
      process.name = ProcessName(process.pid);
    }
  }
}

// NVML is open for one reading at a time (11 ms on an H200): kept open it holds
// 15 MiB of the daemon's memory, and a driver may be loaded, replaced or
// repartitioned while the daemon runs.
absl::StatusOr<std::vector<Device>> ReadGpus(const std::string& library,
                                             gpu::KnownGpus& known) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<gpu::NvmlDevices> nvml,
                           gpu::NvmlDevices::Open(library));
  return nvml->Read(known);
}

DeviceSnapshot ReadSystem(const std::string& library, gpu::KnownGpus& known) {
  DeviceSnapshot snapshot;
  absl::StatusOr<std::vector<Device>> gpus = ReadGpus(library, known);
  if (!gpus.ok()) {
    snapshot.gpu_absence_reason = std::string(gpus.status().message());
  } else if (gpus->empty()) {
    snapshot.gpu_absence_reason =
        "the driver lists no GPU; check that the daemon may open "
        "/dev/nvidia*";
  } else {
    snapshot.devices = *std::move(gpus);
  }
  NameProcesses(snapshot.devices);
  snapshot.devices.push_back(ReadHostAsDevice());
  return snapshot;
}

}  // namespace

DeviceReader SystemDeviceReader(std::string nvml_library) {
  return
      [library = std::move(nvml_library), known = gpu::KnownGpus()]() mutable {
        return ReadSystem(library, known);
      };
}

}  // namespace memplan
