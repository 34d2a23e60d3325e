#include "server/devices/device_snapshot.h"

#include <algorithm>

namespace memplan {

const Device* FindDevice(const DeviceSnapshot& snapshot, std::string_view id) {
  const auto found =
      std::find_if(snapshot.devices.begin(), snapshot.devices.end(),
                   [id](const Device& device) { return device.id == id; });
  return found == snapshot.devices.end() ? nullptr : &*found;
}

}  // namespace memplan
