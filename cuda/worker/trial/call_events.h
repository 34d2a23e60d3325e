// What the allocator saw of one operator call that ran alone, as a plan, and the
// cap that would have refused its scratch. Pure.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_CALL_EVENTS_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_CALL_EVENTS_H_

#include <optional>
#include <span>

#include "cuda/worker/messages/trace_layout.h"
#include "planner/base/bytes.h"
#include "planner/trace/call_plan.h"

namespace memplan::gpu {

// The requests that succeeded and their frees, in order. Blocks from before the
// call are left out.
CallPlan PlanOfEvents(std::span<const TraceRecord> events);

// A cap under which the largest scratch of the call, that is the largest request
// freed within it, has no room where it had it, when the device held `held`
// before the call and nothing in its cache. Segments count where the device has
// them, those that may go back left out, else blocks.
//
//   held 8 MiB │ segment 20 MiB, output │ segment 32 MiB, scratch │ free
//   cap                            8 + 20 + 32 MiB − 1 B
//
// Scratch may lie in a segment that came for smaller scratch of the same call: the
// cap is one byte below that moment, and refuses both. Nothing if the call has no
// scratch, or if what it lies in is older than the call or needed for other
// blocks too.
std::optional<Bytes> RefusingCap(Bytes held,
                                 std::span<const TraceRecord> events);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_CALL_EVENTS_H_
