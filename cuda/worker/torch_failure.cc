#include "cuda/worker/torch_failure.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <exception>
#include <new>

namespace memplan::gpu {
namespace {

// `evidence` with what the device shows now.
Evidence Completed(Evidence evidence, Device& device) {
  evidence.span = device.ReadSpan();
  const auto state = device.State();
  evidence.device_lost = !state.ok();
  if (state.ok()) evidence.device_free = state->device_free;
  evidence.has_allocator_settings =
      std::getenv("PYTORCH_ALLOC_CONF") != nullptr ||
      std::getenv("PYTORCH_CUDA_ALLOC_CONF") != nullptr;
  return evidence;
}

}  // namespace

at::Device TorchDevice(DeviceKind kind) {
  return kind == DeviceKind::kCuda ? at::Device(at::kCUDA, 0)
                                   : at::Device(at::kCPU);
}

void Synchronize(at::Device device) {
  if (device.is_cpu()) return;
  c10::impl::getDeviceGuardImpl(device.type())
      ->synchronizeDevice(device.index());
}

std::optional<Failure> GuardedFailure(
    Device& device, bool sandboxed,
    const std::function<std::optional<Failure>()>& function) {
  Evidence evidence;
  evidence.sandboxed = sandboxed;
  try {
    return function();
  } catch (const c10::OutOfMemoryError& error) {
    evidence.out_of_memory_type = true;
    return FailureOf(error.what_without_backtrace(),
                     Completed(evidence, device));
  } catch (const c10::Error& error) {
    return FailureOf(error.what_without_backtrace(),
                     Completed(evidence, device));
  } catch (const std::bad_alloc&) {
    evidence.host_memory_type = true;
    return FailureOf("the host's memory ran out", Completed(evidence, device));
  } catch (const std::exception& error) {
    return FailureOf(error.what(), Completed(evidence, device));
  } catch (...) {
    return FailureOf("an error without words", Completed(evidence, device));
  }
}

}  // namespace memplan::gpu
