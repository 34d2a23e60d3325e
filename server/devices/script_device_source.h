// Devices from a JSON file in place of NVML's: for tests, demos and load tests
// on a machine without a GPU. The file is read anew at each reading, so that
// whoever rewrites it plays the node.
//
//   {"devices": [{"id": "GPU-a", "name": "H200", "total": "140GiB",
//                 "driver_reserve": "600MiB", "used": "70GiB",
//                 "driver_version": "570.1", "read_error": "", "hangs": false,
//                 "pci": "00000000:17:00.0", "nvml_index": 0, "cuda_index": 1,
//                 "minor_number": 0, "parent": "", "partitioned": false,
//                 "processes": [{"pid": 4711, "name": "python",
//                                "used": "70GiB", "residual": false}]}],
//    "gpu_absence_reason": "the driver is not loaded"}
//
// Amounts are bytes, or texts with a unit; only `id` is needed, and what is left
// out is not known. A device that `hangs` is listed, and its reading does not end
// until the file says otherwise. `cpu` is the host's own unless the file has one.
#ifndef MEMPLAN_SERVER_DEVICES_SCRIPT_DEVICE_SOURCE_H_
#define MEMPLAN_SERVER_DEVICES_SCRIPT_DEVICE_SOURCE_H_

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/devices/device_source.h"

namespace memplan {

// What `--devices` has before the file's path.
inline constexpr std::string_view kScriptPrefix = "script:";

struct DeviceScript {
  std::vector<Device> devices;
  std::set<std::string> hanging;   // the ids of those
  std::string gpu_absence_reason;  // empty if a GPU is there
};

// The devices that `json` describes. kInvalidArgument with the line and column,
// or with the JSON pointer (`/devices/0/used`), of what is wrong.
absl::StatusOr<DeviceScript> ParseDeviceScript(std::string_view json);

// A source of the file at `path`. kInvalidArgument or kNotFound, naming the
// path, if it cannot be read now. Later, a file that cannot be read leaves the
// devices it had last, each with that as its read_error.
absl::StatusOr<std::shared_ptr<DeviceSource>> ScriptDeviceSource(
    std::string path);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_SCRIPT_DEVICE_SOURCE_H_
