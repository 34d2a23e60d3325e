// Which device a name means: the one place where the numberings of GPUs meet.
// nvidia-smi, CUDA and the device files may each count differently, so that a
// number counts only with its numbering.
#ifndef MEMPLAN_PLANNER_ADMISSION_DEVICE_NUMBERING_H_
#define MEMPLAN_PLANNER_ADMISSION_DEVICE_NUMBERING_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/admission/device.h"

namespace memplan {

// The device in `devices` that `name` means: an id (`GPU-…`, `MIG-…`, `cpu`),
// `nvml:N`, `cuda:N`, `minor:N` or `pci:ADDRESS` (with or without its domain).
// kInvalidArgument for a bare number, or a numbering that there is none of;
// kNotFound, naming what there is, if no device, or no single one, has the name.
absl::StatusOr<const Device*> ResolveDevice(std::span<const Device> devices,
                                            std::string_view name);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_DEVICE_NUMBERING_H_
