// The node's GPUs through NVML: no CUDA context, no torch, and no link against
// the driver (the library is opened at run time). Calls may block for as long
// as the driver does, so that only the device monitor's thread makes them.
#ifndef MEMPLAN_CUDA_NVML_NVML_DEVICES_H_
#define MEMPLAN_CUDA_NVML_NVML_DEVICES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/admission/device.h"

namespace memplan::gpu {

// What a GPU is called, whether it can be read or not.
struct GpuIdentity {
  std::string id;
  std::string display_name;
  std::string pci_bus_id;
};

// The GPUs that were read before, by NVML's index: one that is lost no longer
// tells its name.
using KnownGpus = std::map<int32_t, GpuIdentity>;

// Not thread-safe.
class NvmlDevices {
 public:
  // Opens `library` and initialises NVML. Returns kNotFound if there is no such
  // library or no driver, kUnavailable with the driver's words otherwise.
  static absl::StatusOr<std::unique_ptr<NvmlDevices>> Open(
      const std::string& library = "libnvidia-ml.so.1");
  virtual ~NvmlDevices() = default;

  // Reads every GPU. A GPU that cannot be read is listed with its `read_error`,
  // under the name that `known` has for it; those that can be are noted there.
  // Returns kUnavailable if the GPUs cannot even be counted.
  virtual absl::StatusOr<std::vector<Device>> Read(KnownGpus& known) = 0;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_NVML_NVML_DEVICES_H_
