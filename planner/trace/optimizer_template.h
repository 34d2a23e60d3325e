// A recorded training step as Python would train: the events of the C++ optimizer
// are replaced by those of Python's, for the same parameters. Users train in
// Python, and its optimizers take other transients: foreach Adam up to a copy of
// all parameters more.
//
//   M step0/optimizer   zeros_like p  zeros_like p  sqrt p  div p …   recorded
//   M step0/optimizer   zeros_like p  zeros_like p …  _foreach_sqrt …   returned
#ifndef MEMPLAN_PLANNER_TRACE_OPTIMIZER_TEMPLATE_H_
#define MEMPLAN_PLANNER_TRACE_OPTIMIZER_TEMPLATE_H_

#include "absl/status/statusor.h"
#include "planner/trace/python_optimizer.h"
#include "planner/trace/trace.h"

namespace memplan {

// `trace` was recorded with the same algorithm, in phases step0/optimizer,
// step1/optimizer, also0/optimizer, … as workers record them. Where segments and blocks lay is
// left out: it would no longer be true. kInvalidArgument if there is no such
// phase, or the states made there are not those of the algorithm.
absl::StatusOr<Trace> WithPythonOptimizer(const Trace& trace,
                                          const PythonOptimizer& optimizer);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_OPTIMIZER_TEMPLATE_H_
