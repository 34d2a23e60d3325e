#include "cuda/worker/torch_failure.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <exception>
#include <new>

namespace memplan::gpu {

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
  const auto failure_of = [&device, sandboxed](const char* what,
                                               bool out_of_memory) {
    return FailureOf(what,
                     {.out_of_memory_type = out_of_memory,
                      .failed_requests = device.ReadSpan().failed_requests,
                      .sandboxed = sandboxed});
  };
  try {
    return function();
  } catch (const c10::OutOfMemoryError& error) {
    return failure_of(error.what_without_backtrace(), true);
  } catch (const c10::Error& error) {
    return failure_of(error.what_without_backtrace(), false);
  } catch (const std::bad_alloc&) {
    return Failure{.end = EndKind::kModelFailed,
                   .field = "",
                   .message = "the host's memory ran out"};
  } catch (const std::exception& error) {
    return failure_of(error.what(), false);
  } catch (...) {
    return failure_of("an error without words", false);
  }
}

}  // namespace memplan::gpu
