#include "server/devices/host_device.h"

#include <string>

#include "absl/status/statusor.h"
#include "server/devices/host_memory.h"

namespace memplan {

DevicePlace HostPlace() {
  DevicePlace place;
  place.key = "cpu";
  place.unread.id = "cpu";
  place.unread.is_cpu = true;
  place.unread.display_name = "Host memory";
  return place;
}

Device ReadHostAsDevice() {
  Device cpu = HostPlace().unread;
  const absl::StatusOr<HostMemory> memory = ReadHostMemory();
  if (!memory.ok()) {
    cpu.read_error = std::string(memory.status().message());
    return cpu;
  }
  cpu.total = memory->total;
  cpu.free = memory->available;
  cpu.used = memory->total - memory->available;
  return cpu;
}

}  // namespace memplan
