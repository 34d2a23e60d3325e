// The trace that a worker wrote (cuda/worker/messages/trace_layout.h), as the
// planner's. Believes nothing of what it reads.
#ifndef MEMPLAN_SERVER_TRACES_WORKER_TRACE_H_
#define MEMPLAN_SERVER_TRACES_WORKER_TRACE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "planner/trace/trace.h"

namespace memplan {

// Whether `bytes` begin as a worker's trace does; a text never does.
bool IsWorkerTrace(std::string_view bytes);

// `bytes` is the whole file. kInvalidArgument, with the event's index and why,
// for what no worker writes; kFailedPrecondition if the worker had no room for
// some of its records, so that the trace is not whole.
absl::StatusOr<Trace> ReadWorkerTrace(std::string_view bytes);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_TRACES_WORKER_TRACE_H_
