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

// The largest cap under which the largest scratch of the call, that is the
// largest request freed within it, has no room, when the device held `held`
// before the call and nothing in its cache. Segments count where the device has
// them, those that may go back left out, else blocks. Nothing if the call has no scratch, or got it without taking
// more from the device.
//
//   held 8 MiB │ segment 20 MiB, output │ segment 32 MiB, scratch │ free
//   cap                            8 + 20 + 32 MiB − 1 B
std::optional<Bytes> RefusingCap(Bytes held,
                                 std::span<const TraceRecord> events);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_CALL_EVENTS_H_
