// How a trial ended, and what stands behind that, as the worker knows it.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_END_CLASS_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_END_CLASS_H_

#include <string_view>

namespace memplan::gpu {

// How a trial ended. Timeouts and deaths are the
// daemon's to see.
enum class EndKind {
  kRan,
  kOutOfMemory,
  kShapeRefused,
  kModelFailed,
  kBadRequest,  // the model does not go with the request; no batch would run
  kSandboxRefused,  // it reached for what the sandbox keeps from it
};

// Why it ended so, for people; EndKind alone steers the search.
enum class EndClass {
  kNone,            // it ran
  kMemory,          // the allocator had no more to give
  kFragmentation,   // enough was free, but in pieces
  kDriverMemory,    // the driver refused, beside the allocator
  kLibraryLoading,  // a library or kernel could not be loaded for want of it
  kLibraryUnderPressure,  // cuBLAS, cuDNN or cuSOLVER failed for want of it
  kSpilled,  // it ran, in memory that is not the card's; the daemon's to tell
  kHostMemory,
  kLaunchLimit,    // more blocks than a kernel may have
  kIndexLimit,     // more elements than 32-bit indices reach
  kFixedShape,     // sizes are baked into the model
  kDeviceAssert,   // a kernel's check failed; CUDA is lost to the process
  kUnsupported,    // an operator or type that the device does not have
  kConfiguration,  // the allocator's settings contradict each other
  kOther,          // the model's own error, a bad request, the sandbox
};

// oom, fragmentation, driver-oom…
std::string_view EndClassName(EndClass end_class);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_END_CLASS_H_
