#include "server/devices/host_device.h"

#include <string>

#include "absl/status/statusor.h"
#include "server/devices/host_memory.h"

namespace memplan {

Device ReadHostAsDevice() {
  Device cpu;
  cpu.id = "cpu";
  cpu.is_cpu = true;
  cpu.display_name = "Host memory";
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
