#include "cuda/nvml/nvml_devices.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/nvml/nvml_library.h"
#include "planner/base/status_macros.h"

namespace memplan::gpu {
namespace {

// Processes may start between NVML's count and its list; ask for a few more,
// and only so often.
constexpr unsigned int kSpareProcesses = 16;
constexpr int kListAttempts = 4;

// Above what any device has (an H200: 0.14 TiB). A counter gone wrong has said
// 17 TB (HAMi#1181).
constexpr unsigned long long kMostBytes = 4ULL << 40;

using ProcessListCall = NvmlReturn (*)(NvmlDevice, unsigned int*, NvmlProcess*);
// By pid, what each holds; unset if the driver does not say, or says more than
// there is.
using HeldByPid = std::map<int64_t, std::optional<Bytes>>;

Bytes ToBytes(unsigned long long count) {
  return Bytes(static_cast<int64_t>(count));
}

// kUnavailable for figures that cannot be: no answer is better than a wrong one.
absl::Status CheckMemory(const NvmlMemory& memory) {
  if (memory.total <= kMostBytes && memory.reserved <= memory.total &&
      memory.used <= memory.total && memory.free <= memory.total) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("nvmlDeviceGetMemoryInfo_v2 says what cannot be: total ",
                   memory.total, " bytes, reserved ", memory.reserved,
                   ", used ", memory.used, ", free ", memory.free,
                   "; compare with nvidia-smi, and reset the GPU or reload the "
                   "driver if that says the same"));
}

// Adds the processes that `call` lists. A process with compute and graphics
// contexts is in both lists with the same figure. False if NVML gives no list.
bool AddProcesses(ProcessListCall call, NvmlDevice handle, HeldByPid& held) {
  std::vector<NvmlProcess> listed;
  unsigned int count = 0;
  NvmlReturn result = call(handle, &count, nullptr);
  for (int attempt = 0;
       attempt < kListAttempts && result == NvmlReturn::kInsufficientSize;
       ++attempt) {
    listed.resize(count + kSpareProcesses);
    count = static_cast<unsigned int>(listed.size());
    result = call(handle, &count, listed.data());
  }
  if (result != NvmlReturn::kSuccess) return false;
  listed.resize(std::min<size_t>(count, listed.size()));
  for (const NvmlProcess& process : listed) {
    std::optional<Bytes>& bytes = held[process.pid];
    if (process.used_gpu_memory == kNvmlNotAvailable) continue;
    bytes =
        std::max(bytes.value_or(Bytes(0)), ToBytes(process.used_gpu_memory));
  }
  return true;
}

// Fills `device.processes`, and `unattributed` if every figure is known.
void ReadProcesses(const NvmlFunctions& nvml, NvmlDevice handle,
                   Device& device) {
  HeldByPid held;
  const bool compute_listed =
      AddProcesses(nvml.DeviceGetComputeRunningProcesses, handle, held);
  const bool graphics_listed =
      AddProcesses(nvml.DeviceGetGraphicsRunningProcesses, handle, held);
  bool all_known = compute_listed && graphics_listed;
  Bytes sum;
  for (auto& [pid, bytes] : held) {
    if (bytes > device.total) bytes.reset();
    device.processes.push_back({.pid = pid, .name = "", .used = bytes});
    all_known = all_known && bytes.has_value();
    sum += bytes.value_or(Bytes(0));
  }
  std::stable_sort(device.processes.begin(), device.processes.end(),
                   [](const DeviceProcess& a, const DeviceProcess& b) {
                     return a.used > b.used;
                   });
  if (all_known && device.used.has_value()) {
    device.unattributed = std::max(*device.used - sum, Bytes(0));
  }
}

// What NVML calls a GPU; empty where it does not say.
GpuIdentity ReadIdentity(const NvmlFunctions& nvml, NvmlDevice handle) {
  char uuid[kNvmlTextBytes] = {};
  char name[kNvmlTextBytes] = {};
  NvmlPci pci = {};
  (void)nvml.DeviceGetUUID(handle, uuid, sizeof(uuid) - 1);
  (void)nvml.DeviceGetName(handle, name, sizeof(name) - 1);
  (void)nvml.DeviceGetPciInfo(handle, &pci);
  pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
  return {.id = uuid, .display_name = name, .pci_bus_id = pci.bus_id};
}

// `identity` if it has a name; else the known one; else one made of the index.
GpuIdentity KnownIdentity(GpuIdentity identity, int32_t index,
                          const GpuIdentity& known) {
  if (!identity.id.empty()) return identity;
  if (!known.id.empty()) return known;
  identity.id = StandInId(index);
  return identity;
}

class OpenNvmlDevices final : public NvmlDevices {
 public:
  explicit OpenNvmlDevices(std::unique_ptr<NvmlLibrary> library)
      : library_(std::move(library)) {}

  absl::StatusOr<int32_t> Count() override {
    unsigned int count = 0;
    MEMPLAN_RETURN_IF_ERROR(library_->Check(nvml().DeviceGetCount(&count),
                                            "nvmlDeviceGetCount_v2"));
    return static_cast<int32_t>(count);
  }

  std::vector<GpuIdentity> Instances(int32_t index) override {
    std::vector<GpuIdentity> identities;
    for (NvmlDevice instance : InstanceHandles(HandleOf(index))) {
      identities.push_back(ReadIdentity(nvml(), instance));
    }
    return identities;
  }

  Device ReadInstance(int32_t index, const GpuIdentity& instance) override {
    Device device;
    device.id = instance.id;
    device.display_name = instance.display_name;
    device.pci_bus_id = instance.pci_bus_id;
    device.driver_version = DriverVersion();
    for (NvmlDevice handle : InstanceHandles(HandleOf(index))) {
      if (ReadIdentity(nvml(), handle).id != instance.id) continue;
      if (absl::Status read = ReadMemory(handle, device); !read.ok()) {
        device.read_error = std::string(read.message());
      }
      return device;
    }
    device.read_error = "the GPU has no such MIG instance any more";
    return device;
  }

  Device Read(int32_t index, const GpuIdentity& known) override {
    Device device;
    device.nvml_index = index;
    device.driver_version = DriverVersion();
    if (absl::Status read = ReadDevice(index, known, device); !read.ok()) {
      device.read_error = std::string(read.message());
    }
    return device;
  }

 private:
  const NvmlFunctions& nvml() const { return library_->functions(); }

  std::string DriverVersion() const {
    char text[kNvmlTextBytes] = {};
    (void)nvml().SystemGetDriverVersion(text, sizeof(text) - 1);
    return text;
  }

  // Null if there is none.
  NvmlDevice HandleOf(int32_t index) const {
    NvmlDevice handle = nullptr;
    const NvmlReturn found = nvml().DeviceGetHandleByIndex(
        static_cast<unsigned int>(index), &handle);
    return found == NvmlReturn::kSuccess ? handle : nullptr;
  }

  bool IsInMigMode(NvmlDevice handle) const {
    unsigned int current = 0;
    unsigned int pending = 0;
    return nvml().DeviceGetMigMode != nullptr &&
           nvml().DeviceGetMigMode(handle, &current, &pending) ==
               NvmlReturn::kSuccess &&
           current == 1;
  }

  // Those of the places for instances that are taken.
  std::vector<NvmlDevice> InstanceHandles(NvmlDevice gpu) const {
    std::vector<NvmlDevice> handles;
    unsigned int places = 0;
    if (gpu == nullptr || !IsInMigMode(gpu) ||
        nvml().DeviceGetMaxMigDeviceCount == nullptr ||
        nvml().DeviceGetMigDeviceHandleByIndex == nullptr ||
        nvml().DeviceGetMaxMigDeviceCount(gpu, &places) !=
            NvmlReturn::kSuccess) {
      return handles;
    }
    for (unsigned int place = 0; place < places; ++place) {
      NvmlDevice handle = nullptr;
      if (nvml().DeviceGetMigDeviceHandleByIndex(gpu, place, &handle) ==
          NvmlReturn::kSuccess) {
        handles.push_back(handle);
      }
    }
    return handles;
  }

  // The name comes first, so that a device that is lost is at least named.
  absl::Status ReadDevice(int32_t index, const GpuIdentity& known,
                          Device& device) const {
    NvmlDevice handle = nullptr;
    const NvmlReturn found = nvml().DeviceGetHandleByIndex(
        static_cast<unsigned int>(index), &handle);
    const GpuIdentity identity = KnownIdentity(
        found == NvmlReturn::kSuccess ? ReadIdentity(nvml(), handle)
                                      : GpuIdentity(),
        index, known);
    device.id = identity.id;
    device.display_name = identity.display_name;
    device.pci_bus_id = identity.pci_bus_id;
    MEMPLAN_RETURN_IF_ERROR(
        library_->Check(found, "nvmlDeviceGetHandleByIndex_v2"));
    device.is_partitioned = IsInMigMode(handle);
    unsigned int minor = 0;
    if (nvml().DeviceGetMinorNumber != nullptr &&
        nvml().DeviceGetMinorNumber(handle, &minor) == NvmlReturn::kSuccess) {
      device.minor_number = static_cast<int32_t>(minor);
    }
    return ReadMemory(handle, device);
  }

  absl::Status ReadMemory(NvmlDevice handle, Device& device) const {
    NvmlMemory memory = {};
    memory.version = kNvmlMemoryVersion;
    MEMPLAN_RETURN_IF_ERROR(
        library_->Check(nvml().DeviceGetMemoryInfo(handle, &memory),
                        "nvmlDeviceGetMemoryInfo_v2"));
    MEMPLAN_RETURN_IF_ERROR(CheckMemory(memory));
    device.total = ToBytes(memory.total);
    device.driver_reserve = ToBytes(memory.reserved);
    device.used = ToBytes(memory.used);
    device.free = ToBytes(memory.free);
    ReadProcesses(nvml(), handle, device);
    return absl::OkStatus();
  }

  const std::unique_ptr<NvmlLibrary> library_;
};

}  // namespace

std::string StandInId(int32_t index) {
  return absl::StrCat("GPU-unreadable-", index);
}

absl::StatusOr<std::unique_ptr<NvmlDevices>> NvmlDevices::Open(
    const std::string& library) {
  MEMPLAN_ASSIGN_OR_RETURN(std::unique_ptr<NvmlLibrary> opened,
                           NvmlLibrary::Open(library));
  return std::make_unique<OpenNvmlDevices>(std::move(opened));
}

}  // namespace memplan::gpu
