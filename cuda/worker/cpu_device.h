// The CPU as a device with a cap: an allocator that records and counts, and
// refuses as a GPU's would, so that out of memory, recovery and search are real
// where there is no GPU.
#ifndef MEMPLAN_CUDA_WORKER_CPU_DEVICE_H_
#define MEMPLAN_CUDA_WORKER_CPU_DEVICE_H_

#include <memory>
#include <optional>

#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/recorder.h"
#include "planner/base/bytes.h"

namespace memplan::gpu {

// Makes torch take all CPU memory of tensors from the recording allocator, for
// the rest of the process. Call it once, before any tensor is made. `recorder`
// lives as long as the process.
std::unique_ptr<Device> StartCpuDevice(std::optional<Bytes> cap,
                                       Recorder& recorder);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_CPU_DEVICE_H_
