#include "client/cli/device_argument.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace memplan {
namespace {

const v1::Device* FirstOfKind(const v1::ListDevicesResponse& devices,
                              v1::DeviceKind kind) {
  for (const v1::Device& device : devices.devices()) {
    if (device.kind() == kind) return &device;
  }
  return nullptr;
}

std::string GpuAbsence(const v1::ListDevicesResponse& devices) {
  return devices.gpu_absence_reason().empty()
             ? "no GPU here"
             : absl::StrCat("no GPU here (", devices.gpu_absence_reason(), ")");
}

absl::Status NoSuchDevice(const v1::ListDevicesResponse& devices,
                          const std::string& wanted) {
  std::vector<std::string> ids;
  for (const v1::Device& device : devices.devices()) ids.push_back(device.id());
  return absl::NotFoundError(absl::StrCat(
      "--device ", wanted, " is not one device of this node; it has ",
      absl::StrJoin(ids, ", ")));
}

absl::StatusOr<v1::Device> DefaultDevice(const v1::ListDevicesResponse& devices,
                                         Console& console) {
  const v1::Device* gpu = FirstOfKind(devices, v1::DEVICE_KIND_CUDA);
  if (gpu != nullptr) {
    console.Say(absl::StrCat("device ", gpu->id(), " (", gpu->display_name(),
                             "), the first GPU"));
    return *gpu;
  }
  const v1::Device* cpu = FirstOfKind(devices, v1::DEVICE_KIND_CPU);
  if (cpu == nullptr) return absl::NotFoundError("the daemon has no device");
  console.Say(absl::StrCat("device cpu: ", GpuAbsence(devices)));
  return *cpu;
}

}  // namespace

absl::StatusOr<v1::Device> ChooseDevice(const v1::ListDevicesResponse& devices,
                                        const std::string& wanted,
                                        Console& console) {
  if (wanted.empty()) return DefaultDevice(devices, console);
  if (wanted == "gpu") {
    const v1::Device* gpu = FirstOfKind(devices, v1::DEVICE_KIND_CUDA);
    if (gpu != nullptr) return *gpu;
    return absl::NotFoundError(
        absl::StrCat("--device gpu: ", GpuAbsence(devices),
                     "; --device cpu imitates one in host memory"));
  }
  const v1::Device* found = nullptr;
  for (const v1::Device& device : devices.devices()) {
    if (device.id() == wanted) return device;
    if (!device.id().starts_with(wanted)) continue;
    if (found != nullptr) return NoSuchDevice(devices, wanted);
    found = &device;
  }
  if (found == nullptr) return NoSuchDevice(devices, wanted);
  return *found;
}

}  // namespace memplan
