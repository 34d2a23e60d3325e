// All devices as they are known at one moment. Each was read by itself: its
// sample_time says when, and its read_error whether its numbers still hold.
#ifndef MEMPLAN_SERVER_DEVICES_DEVICE_SNAPSHOT_H_
#define MEMPLAN_SERVER_DEVICES_DEVICE_SNAPSHOT_H_

#include <string>
#include <string_view>
#include <vector>

#include "planner/admission/device.h"

namespace memplan {

struct DeviceSnapshot {
  std::vector<Device> devices;     // GPUs in NVML's order, then `cpu`
  std::string gpu_absence_reason;  // empty if a GPU is listed
  // False while the driver has not said which GPUs there are, or what one of
  // them is called: a device that is not listed may be there nevertheless.
  bool gpus_known = true;
};

// How the ids of GPUs begin that the driver has not named: with NVML's index
// after it one that cannot be read, without it all that it has not listed.
inline constexpr std::string_view kUnreadableGpu = "GPU-unreadable";

// The device called `id`, or null.
const Device* FindDevice(const DeviceSnapshot& snapshot, std::string_view id);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_DEVICE_SNAPSHOT_H_
