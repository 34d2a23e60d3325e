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
  int64_t id = 0;  // goes up with every reading; the monitor sets it
  std::chrono::system_clock::time_point time;  // of the reading's end; likewise
  std::vector<Device> devices;     // GPUs in NVML's order, then `cpu`
  std::string gpu_absence_reason;  // empty if a GPU is listed
};

// The device called `id`, or null.
const Device* FindDevice(const DeviceSnapshot& snapshot, std::string_view id);

// Reads all devices; called on the monitor's thread alone.
using DeviceReader = std::function<DeviceSnapshot()>;

// NVML's GPUs, opened anew for each reading, and the host's memory as `cpu`.
DeviceReader SystemDeviceReader(std::string nvml_library = "libnvidia-ml.so.1");

// Thread-safe.
class DeviceMonitor {
 public:
  // Begins reading, then again each `interval` after a reading's end.
  DeviceMonitor(DeviceReader reader, std::chrono::milliseconds interval);
  // As Stop.
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  // The last snapshot; null before the first reading.
  std::shared_ptr<const DeviceSnapshot> Latest() const;

  // Calls `done` with a snapshot as soon as there is one: at once, on this
  // thread, if one has been read; else on a thread of the monitor. Calls it
  // with kUnavailable (DEVICES_NOT_READ) if none comes within `patience` or the
  // monitor is destroyed. Never blocks; `done` must not either.
  using SnapshotCallback = std::function<void(
      absl::StatusOr<std::shared_ptr<const DeviceSnapshot>>)>;
  void WhenRead(std::chrono::milliseconds patience, SnapshotCallback done);

  // Returns a snapshot of a reading that began after the call; for job threads,
  // since it waits, at most `patience` (then kDeadlineExceeded).
  absl::StatusOr<std::shared_ptr<const DeviceSnapshot>> ReadNow(
      std::chrono::milliseconds patience);

  // Ends all waits, then the threads after the reading in progress; a reading
  // that the driver does not return from within two seconds is left behind with
  // what the reader captured. The last snapshot stays. Later calls do nothing.
  void Stop();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with a thread left behind
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_DEVICE_MONITOR_H_
