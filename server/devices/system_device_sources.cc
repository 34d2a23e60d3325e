// The sources of a real node: NVML's GPUs, and the host's memory as `cpu`.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cuda/nvml/nvml_devices.h"
#include "planner/base/status_macros.h"
#include "server/devices/device_source.h"
#include "server/devices/host_device.h"
#include "server/devices/process_name.h"

namespace memplan {
namespace {

void NameProcesses(Device& device) {
  if (!SeesHostProcesses()) return;
  for (DeviceProcess& process : device.processes) {
    process.name = ProcessName(process.pid);
    process.residual = ProcessHasEnded(process.pid);
  }
}

// NVML is open while somebody reads (11 ms on an H200): kept open it holds 15 MiB
// of the daemon's memory, and a driver may be loaded, replaced or repartitioned
// while the daemon runs. Readers of one moment share it, since opening it costs
// most of a reading. Where opening it hangs, all GPUs do.
class NvmlSource final : public DeviceSource {
 public:
  explicit NvmlSource(std::string library) : library_(std::move(library)) {}

  DeviceListing List() override {
    const absl::StatusOr<int32_t> count = Count();
    DeviceListing listing;
    {
      const std::lock_guard lock(mutex_);
      listed_ = count.value_or(0);
    }
    if (!count.ok()) {
      listing.gpu_absence_reason = std::string(count.status().message());
    } else if (*count == 0) {
      listing.gpu_absence_reason =
          "the driver lists no GPU; check that the daemon may open "
          "/dev/nvidia*";
    }
    for (int32_t index = 0; index < count.value_or(0); ++index) {
      listing.places.push_back(Place(index));
      AddInstances(index, listing.places);
    }
    return listing;
  }

  Device Read(const DevicePlace& place) override {
    const absl::StatusOr<std::shared_ptr<gpu::NvmlDevices>> nvml = Open();
    if (!nvml.ok()) {
      Device unread = place.unread;
      unread.read_error = std::string(nvml.status().message());
      return unread;
    }
    const int32_t index = place.unread.nvml_index.value_or(0);
    if (!place.unread.parent_id.empty()) {
      return ReadInstance(**nvml, index, place.unread);
    }
    Device device = (*nvml)->Read(index, Known(index).identity);
    NameProcesses(device);
    if (device.id != gpu::StandInId(index)) {
      // On this thread, so that a list never waits for a GPU.
      Note(index, device,
           device.is_partitioned ? (*nvml)->Instances(index)
                                 : std::vector<gpu::GpuIdentity>());
    }
    device.cuda_index = CudaIndexOf(device);
    return device;
  }

 private:
  absl::StatusOr<std::shared_ptr<gpu::NvmlDevices>> Open() {
    const std::lock_guard lock(opening_);
    std::shared_ptr<gpu::NvmlDevices> nvml = opened_.lock();
    if (nvml != nullptr) return nvml;
    MEMPLAN_ASSIGN_OR_RETURN(nvml, gpu::NvmlDevices::Open(library_));
    opened_ = nvml;
    return nvml;
  }

  absl::StatusOr<int32_t> Count() {
    MEMPLAN_ASSIGN_OR_RETURN(const std::shared_ptr<gpu::NvmlDevices> nvml,
                             Open());
    return nvml->Count();
  }

  // A GPU that has been read.
  struct KnownGpu {
    gpu::GpuIdentity identity;
    std::vector<gpu::GpuIdentity> instances;
  };

  KnownGpu Known(int32_t index) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(index);
    return found == known_.end() ? KnownGpu() : found->second;
  }

  void Note(int32_t index, const Device& device,
            std::vector<gpu::GpuIdentity> instances) {
    const std::lock_guard lock(mutex_);
    known_[index] = {{.id = device.id,
                      .display_name = device.display_name,
                      .pci_bus_id = device.pci_bus_id},
                     std::move(instances)};
  }

  // By the order of PCI addresses, once every GPU has told its own.
  std::optional<int32_t> CudaIndexOf(const Device& device) {
    const std::lock_guard lock(mutex_);
    if (known_.size() != static_cast<size_t>(listed_)) return std::nullopt;
    int32_t before = 0;
    for (const auto& [index, gpu] : known_) {
      if (gpu.identity.pci_bus_id < device.pci_bus_id) ++before;
    }
    return before;
  }

  static Device ReadInstance(gpu::NvmlDevices& nvml, int32_t index,
                             const Device& unread) {
    Device device =
        nvml.ReadInstance(index, {.id = unread.id,
                                  .display_name = unread.display_name,
                                  .pci_bus_id = unread.pci_bus_id});
    device.nvml_index = unread.nvml_index;
    device.parent_id = unread.parent_id;
    NameProcesses(device);
    return device;
  }

  void AddInstances(int32_t index, std::vector<DevicePlace>& places) {
    const KnownGpu gpu = Known(index);
    for (const gpu::GpuIdentity& instance : gpu.instances) {
      DevicePlace& place = places.emplace_back();
      place.key = absl::StrCat(index, "/", instance.id);
      place.unread.id = instance.id;
      place.unread.display_name = instance.display_name;
      place.unread.pci_bus_id = gpu.identity.pci_bus_id;
      place.unread.nvml_index = index;
      place.unread.parent_id = gpu.identity.id;
    }
  }

  // One that was read before has its name, though it may be lost by now.
  DevicePlace Place(int32_t index) {
    const gpu::GpuIdentity known = Known(index).identity;
    DevicePlace place;
    place.key = absl::StrCat(index);
    place.named = !known.id.empty();
    place.unread.id = place.named ? known.id : gpu::StandInId(index);
    place.unread.display_name = known.display_name;
    place.unread.pci_bus_id = known.pci_bus_id;
    place.unread.nvml_index = index;
    return place;
  }

  const std::string library_;
  std::mutex opening_;
  std::weak_ptr<gpu::NvmlDevices> opened_;  // under opening_
  std::mutex mutex_;
  std::map<int32_t, KnownGpu> known_;  // by index; under mutex_
  int32_t listed_ = 0;                 // GPUs; under mutex_
};

class HostSource final : public DeviceSource {
 public:
  DeviceListing List() override {
    return {.places = {HostPlace()}, .gpu_absence_reason = ""};
  }
  Device Read(const DevicePlace& /*place*/) override {
    return ReadHostAsDevice();
  }
};

}  // namespace

DeviceSources SystemDeviceSources(std::string nvml_library) {
  return {std::make_shared<NvmlSource>(std::move(nvml_library)),
          std::make_shared<HostSource>()};
}

}  // namespace memplan
