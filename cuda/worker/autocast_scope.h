// Mixed precision for as long as it lives: what `with torch.autocast(…)` does.
#ifndef MEMPLAN_CUDA_WORKER_AUTOCAST_SCOPE_H_
#define MEMPLAN_CUDA_WORKER_AUTOCAST_SCOPE_H_

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "cuda/worker/messages/step_options.h"

namespace memplan::gpu {

// Of the thread that makes and destroys it. With Autocast::kNone it does nothing.
// Weights that were cast are kept until its end, and let go of then.
//
// A TorchScript executor casts by a pass of its own, made at a graph's first run
// within a scope; with its optimizations off it has none, and operators cast as
// they do in eager Python.
class AutocastScope {
 public:
  AutocastScope(Autocast autocast, c10::DeviceType device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const bool is_on_;
  const c10::DeviceType device_;
  const bool was_enabled_;
  const c10::ScalarType type_before_;
  const bool cached_before_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_AUTOCAST_SCOPE_H_
