// The reader of a real node: NVML's GPUs, then the host's memory as `cpu`.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/nvml/nvml_devices.h"
#include "server/devices/device_monitor.h"
#include "server/devices/host_memory.h"
#include "server/devices/process_name.h"

namespace memplan {
namespace {

Device ReadCpu() {
  Device cpu;
  cpu.id = "cpu";
  cpu.is_cpu = true;
  cpu.display_name = "Host memory";
  const absl::StatusOr<HostMemory> memory = ReadHostMemory();
  if (!memory.ok()) {
    cpu.read_error = std::string(memory.status().message());
    return cpu;
  }
  cpu.total = memory->total;
  cpu.free = memory->available;
  cpu.used = memory->total - memory->available;
  return cpu;
}

void NameProcesses(std::vector<Device>& devices) {
  if (!SeesHostProcesses()) return;
  for (Device& device : devices) {
    for (DeviceProcess& process : device.processes) {
      process.name = ProcessName(process.pid);
    }
  }
}

// Keeps NVML open between readings, and opens it anew once it fails: a driver
// may be loaded, or replaced, while the daemon runs.
class SystemReader {
 public:
  explicit SystemReader(std::string library) : library_(std::move(library)) {}

  DeviceSnapshot Read() {
    DeviceSnapshot snapshot;
    if (absl::Status gpus = ReadGpus(snapshot.devices); !gpus.ok()) {
      nvml_ = nullptr;
      snapshot.gpu_absence_reason = std::string(gpus.message());
    } else if (snapshot.devices.empty()) {
      snapshot.gpu_absence_reason =
          "the driver lists no GPU; check that the daemon may open "
          "/dev/nvidia*";
    }
    NameProcesses(snapshot.devices);
    snapshot.devices.push_back(ReadCpu());
    return snapshot;
  }

 private:
  absl::Status ReadGpus(std::vector<Device>& devices) {
    if (nvml_ == nullptr) {
      auto opened = gpu::NvmlDevices::Open(library_);
      if (!opened.ok()) return opened.status();
      nvml_ = *std::move(opened);
    }
    auto read = nvml_->Read();
    if (read.ok()) devices = *std::move(read);
    return read.status();
  }

  const std::string library_;
  std::unique_ptr<gpu::NvmlDevices> nvml_;
};

}  // namespace

DeviceReader SystemDeviceReader(std::string nvml_library) {
  // A std::function must be copyable; all copies share the open library.
  auto reader = std::make_shared<SystemReader>(std::move(nvml_library));
  return [reader] { return reader->Read(); };
}

}  // namespace memplan
