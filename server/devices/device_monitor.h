// Reads the devices on a thread of its own and keeps the last reading as an
// immutable snapshot, so that no RPC handler ever waits for a driver.
#ifndef MEMPLAN_SERVER_DEVICES_DEVICE_MONITOR_H_
#define MEMPLAN_SERVER_DEVICES_DEVICE_MONITOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/admission/device.h"

namespace memplan {

struct DeviceSnapshot {
  int64_t id = 0;  // goes up with every reading
  std::chrono::system_clock::time_point time;
  std::vector<Device> devices;     // GPUs in NVML's order, then `cpu`
  std::string gpu_absence_reason;  // empty if a GPU is listed
};

// The device called `id`, or null.
const Device* FindDevice(const DeviceSnapshot& snapshot, std::string_view id);

// Reads all devices; called on the monitor's thread alone.
using DeviceReader = std::function<DeviceSnapshot()>;

// NVML's GPUs, opened at the first call, and the host's memory as `cpu`.
DeviceReader SystemDeviceReader();

// Thread-safe. The destructor stops the thread after the reading in progress.
class DeviceMonitor {
 public:
  DeviceMonitor(DeviceReader reader, std::chrono::milliseconds interval);
  ~DeviceMonitor();

  // The last snapshot; null before the first reading.
  std::shared_ptr<const DeviceSnapshot> Latest() const;

  // Calls `done` with a snapshot as soon as there is one: at once, on this
  // thread, if one has been read; else on the monitor's thread. Calls it with
  // kUnavailable if none comes within `patience` or the monitor is destroyed.
  // Never blocks.
  using SnapshotCallback = std::function<void(
      absl::StatusOr<std::shared_ptr<const DeviceSnapshot>>)>;
  void WhenRead(std::chrono::milliseconds patience, SnapshotCallback done);

  // Reads afresh and returns that snapshot; for job threads, since it waits at
  // most `patience` (then kDeadlineExceeded).
  absl::StatusOr<std::shared_ptr<const DeviceSnapshot>> ReadNow(
      std::chrono::milliseconds patience);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_DEVICE_MONITOR_H_
