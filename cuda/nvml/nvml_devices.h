// The node's GPUs through NVML: no CUDA context, no torch, and no link against
// the driver (the library is opened at run time). Calls may block for as long
// as the driver does, so that only the device monitor's threads make them.
#ifndef MEMPLAN_CUDA_NVML_NVML_DEVICES_H_
#define MEMPLAN_CUDA_NVML_NVML_DEVICES_H_

#include <cstdint>
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

// The id of the GPU at `index` that has not told its own.
std::string StandInId(int32_t index);

// Thread-safe, as NVML is: a call that hangs in one GPU need not hold up the
// others'. Destroyed when no call is in progress.
class NvmlDevices {
 public:
  // Opens `library` and initialises NVML. Returns kNotFound if there is no such
  // library or no driver, kUnavailable with the driver's words otherwise.
  static absl::StatusOr<std::unique_ptr<NvmlDevices>> Open(
      const std::string& library = "libnvidia-ml.so.1");
  virtual ~NvmlDevices() = default;

  // How many GPUs there are; kUnavailable with the driver's words.
  virtual absl::StatusOr<int32_t> Count() = 0;

  // Reads the GPU at NVML's `index`. One that cannot be read has a `read_error`,
  // and is called what it was before, since one that is lost no longer tells its
  // name: `known`, or StandInId if that is empty.
  virtual Device Read(int32_t index, const GpuIdentity& known) = 0;

  // What the MIG instances of that GPU are called; empty if it is in no MIG mode,
  // has none, or does not say.
  virtual std::vector<GpuIdentity> Instances(int32_t index) = 0;

  // Reads one of those. One that is there no more has a `read_error`.
  virtual Device ReadInstance(int32_t index, const GpuIdentity& instance) = 0;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_NVML_NVML_DEVICES_H_
