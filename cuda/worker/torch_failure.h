// Where torch's exceptions end: what they say becomes a failure.
#ifndef MEMPLAN_CUDA_WORKER_TORCH_FAILURE_H_
#define MEMPLAN_CUDA_WORKER_TORCH_FAILURE_H_

#include <c10/core/Device.h>

#include <functional>
#include <optional>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/device.h"
#include "cuda/worker/trial/ending.h"

namespace memplan::gpu {

at::Device TorchDevice(DeviceKind kind);

// Waits for all that the device was given. Throws what its kernels raised.
void Synchronize(at::Device device);

// Runs `function`, which returns a failure or throws; `device` has a span open.
std::optional<Failure> GuardedFailure(
    Device& device, bool sandboxed,
    const std::function<std::optional<Failure>()>& function);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TORCH_FAILURE_H_
