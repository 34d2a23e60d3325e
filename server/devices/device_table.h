// What the device monitor knows: which devices are listed, what each held when
// it was last read, and which reading is late. No threads and no clock of its
// own; the monitor's mutex guards it.
#ifndef MEMPLAN_SERVER_DEVICES_DEVICE_TABLE_H_
#define MEMPLAN_SERVER_DEVICES_DEVICE_TABLE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "planner/admission/device.h"
#include "server/devices/device_snapshot.h"
#include "server/devices/device_source.h"

namespace memplan {

// A call into a driver, made again and again on one thread.
struct Poll {
  bool InProgress() const { return started > finished; }

  int64_t started = 0;   // calls
  int64_t finished = 0;  // calls
  int64_t wanted = 0;    // the call that somebody waits for
  std::chrono::steady_clock::time_point late_at;  // the call in progress
  bool late = false;     // the call in progress is past its deadline
  bool retired = false;  // its device is listed no more; the thread is to end
  bool ended = false;    // the thread makes no call any more
  std::thread thread;
};

struct PolledDevice {
  std::shared_ptr<DeviceSource> source;
  DevicePlace place;
  Poll poll = {};
  std::shared_ptr<const Device> last =
      nullptr;  // null before the first reading
};

struct PolledSource {
  std::shared_ptr<DeviceSource> source;
  Poll poll = {};
  std::optional<DeviceListing> listing = {};
  // Those of the listing, then retired ones whose threads still run.
  std::vector<std::shared_ptr<PolledDevice>> devices = {};
};

// Not thread-safe.
class DeviceTable {
 public:
  // `deadline` is what a late reading has exceeded, for its words.
  DeviceTable(const DeviceSources& sources, std::chrono::milliseconds deadline);

  // Takes over what `source` lists. Returns the devices that need a thread. One
  // that is listed no more is retired; should it come back while its thread
  // hangs, it keeps that, so that there is never a second one.
  std::vector<std::shared_ptr<PolledDevice>> Take(PolledSource& source,
                                                  DeviceListing listing);

  // The listed device that is called `id`, or null.
  std::shared_ptr<PolledDevice> Find(std::string_view id) const;

  // Whether the device called `id` has been read, or its reading is late …
  bool IsSettled(std::string_view id) const;
  // … or that of all there are, and of the lists.
  bool AllSettled() const;

  // The settled devices, and kUnreadableGpu for a list that is late. Of one whose reading is late it has what cannot have
  // changed, the time of the last reading, and LateWords as its read_error.
  DeviceSnapshot Snapshot() const;

  // `the driver has not answered within 5 s; see whether `nvidia-smi` hangs`.
  std::string LateWords(const Device& device) const;

  void ForEachPoll(const std::function<void(Poll&)>& visit);

  const std::vector<std::shared_ptr<PolledSource>>& sources() const {
    return sources_;
  }

 private:
  const std::chrono::milliseconds deadline_;
  std::vector<std::shared_ptr<PolledSource>> sources_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_DEVICE_TABLE_H_
