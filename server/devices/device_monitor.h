// Reads each device on a thread of its own and keeps the last reading as an
// immutable snapshot, so that no RPC handler ever waits for a driver, and no
// device for another's. A thread that hangs in a driver cannot be ended: there
// is one a device and one a source at most, and a device whose reading is past
// its deadline is unknown until that returns.
#ifndef MEMPLAN_SERVER_DEVICES_DEVICE_MONITOR_H_
#define MEMPLAN_SERVER_DEVICES_DEVICE_MONITOR_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/devices/device_snapshot.h"
#include "server/devices/device_source.h"

namespace memplan {

// One device at one moment, or why nobody knows it.
using DeviceReading = absl::StatusOr<std::shared_ptr<const Device>>;

// Thread-safe.
class DeviceMonitor {
 public:
  struct Timing {
    std::chrono::milliseconds interval;  // from a reading's start to the next
    std::chrono::milliseconds deadline;  // of a reading, and of a list
  };

  // Begins listing and reading.
  DeviceMonitor(const DeviceSources& sources, Timing timing);
  // As Stop with two seconds' patience.
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  // All devices as they are known now; null until each has been read once, or
  // has not answered within the deadline.
  std::shared_ptr<const DeviceSnapshot> Latest() const;

  // Calls `done` with what is known as soon as it has the device called `id`, or
  // all there are (at once if `id` is empty); at once, on this thread, if it has;
  // else on the monitor's. Calls it with kUnavailable (DEVICES_NOT_READ) if that
  // takes longer than `patience` or the monitor is stopped. Never blocks; `done`
  // must not either.
  using SnapshotCallback = std::function<void(
      absl::StatusOr<std::shared_ptr<const DeviceSnapshot>>)>;
  void WhenRead(const std::string& id, std::chrono::milliseconds patience,
                SnapshotCallback done);

  // Returns a reading of the device called `id` that began after the call; for
  // job threads, since it waits, at most `patience`. kNotFound if there is no
  // such device, kDeadlineExceeded if it does not answer (soon, if it is known
  // to hang), kUnavailable (DEVICES_NOT_READ) if the monitor is stopped.
  DeviceReading ReadNow(const std::string& id,
                        std::chrono::milliseconds patience);

  // Ends all waits, then the threads after the readings in progress. Those that
  // are late, or take longer than `patience`, are left behind with what their
  // sources hold. The last snapshot stays. Later calls do nothing.
  void Stop(std::chrono::milliseconds patience);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with threads left behind
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_DEVICE_MONITOR_H_
