// Where devices come from: NVML, the host, a script. A source says which there
// are, and reads one at a time, so that one that hangs holds up no other.
#ifndef MEMPLAN_SERVER_DEVICES_DEVICE_SOURCE_H_
#define MEMPLAN_SERVER_DEVICES_DEVICE_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "planner/admission/device.h"

namespace memplan {

// One device, before it is read.
struct DevicePlace {
  std::string key;    // tells it from the source's others, from list to list
  Device unread;      // what is known without asking it: what it is called
  bool named = true;  // false if `unread.id` only stands in for the driver's
};

struct DeviceListing {
  std::vector<DevicePlace> places;  // in the order in which they are shown
  std::string gpu_absence_reason;   // empty if there is a GPU, or none is meant
};

// Thread-safe: List and Read, of several places, run at the same time. Both may
// block for as long as a driver does, even for ever; neither throws.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;

  // Which devices there are now.
  virtual DeviceListing List() = 0;

  // What the device in `place`, one of a listing, holds now; with a read_error
  // if it cannot be read. The monitor sets the snapshot's id and time.
  virtual Device Read(const DevicePlace& place) = 0;
};

using DeviceSources = std::vector<std::shared_ptr<DeviceSource>>;

// NVML's GPUs, then the host's memory as `cpu`.
DeviceSources SystemDeviceSources(
    std::string nvml_library = "libnvidia-ml.so.1");

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_DEVICE_SOURCE_H_
