// A recorded trace as the optimizer of the spec would have left it: workers run
// libtorch's, whichever was asked for.
#ifndef MEMPLAN_SERVER_JOBS_AS_PYTHON_TRAINS_H_
#define MEMPLAN_SERVER_JOBS_AS_PYTHON_TRAINS_H_

#include "absl/status/statusor.h"
#include "planner/trace/trace.h"
#include "server/probe/probe.h"

namespace memplan {

// `trace` itself unless `spec` trains with an optimizer of Python's. Errors as of
// WithPythonOptimizer.
absl::StatusOr<Trace> AsSpecTrains(const ProbeSpec& spec, Trace trace);

// Whether that leaves traces as they are.
bool TrainsAsWorkersDo(const ProbeSpec& spec);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_AS_PYTHON_TRAINS_H_
