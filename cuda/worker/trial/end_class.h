// The class of a failed load or step, decided by evidence: what the allocator
// refused and whether that was made up for, what the device had free, whether it
// still answers, and only then words. Pure.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_END_CLASS_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_END_CLASS_H_

#include <optional>
#include <string_view>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/device.h"
#include "planner/base/bytes.h"

namespace memplan::gpu {

// What is known of an error beside its words.
struct Evidence {
  bool out_of_memory_type = false;  // it was a c10::OutOfMemoryError
  bool host_memory_type = false;    // it was a std::bad_alloc
  Span span = {};                   // of this load or step
  std::optional<Bytes> device_free = std::nullopt;
  bool device_lost = false;  // CUDA answers every call with an error
  // The allocator's settings are not torch's own (PYTORCH_ALLOC_CONF).
  bool has_allocator_settings = false;
  bool sandboxed = false;  // calls and files are refused (Refuses)
};

// Never kNone. `words` are the error's own (OwnWords).
EndClass ClassOf(std::string_view words, const Evidence& evidence);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_END_CLASS_H_
