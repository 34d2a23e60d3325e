// The GPU that CUDA shows first, through PyTorch's caching allocator: its cap,
// its counters, and every event of it in the trace.
#ifndef MEMPLAN_CUDA_WORKER_CUDA_DEVICE_H_
#define MEMPLAN_CUDA_WORKER_CUDA_DEVICE_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/recorder.h"
#include "planner/base/bytes.h"

namespace memplan::gpu {

// Opens a context on device 0, sets the cap and records from then on, for the
// rest of the process. A cap of the device's whole memory or more is none. Call
// it once. `recorder` lives as long as the process. Returns kFailedPrecondition
// if CUDA has no device to give, or the environment puts another allocator in
// its place.
absl::StatusOr<std::unique_ptr<Device>> StartCudaDevice(
    std::optional<Bytes> cap, Recorder& recorder);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_CUDA_DEVICE_H_
