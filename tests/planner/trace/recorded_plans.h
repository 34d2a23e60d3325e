// What the irregular calls of a symbolic trace did in a run at another shape,
// taken from that run's trace: what running each of them alone would show.
#ifndef MEMPLAN_TESTS_PLANNER_TRACE_RECORDED_PLANS_H_
#define MEMPLAN_TESTS_PLANNER_TRACE_RECORDED_PLANS_H_

#include "planner/trace/call_plan.h"
#include "planner/trace/outer_calls.h"
#include "planner/trace/symbolic_trace.h"
#include "planner/trace/trace.h"

namespace memplan::testing {

// What `call` of `trace` asked for and gave back.
CallPlan PlanOf(const Trace& trace, const OuterCall& call);

// `largest` is the largest recording of `symbolic`; `target` a run at the shape
// that the plans are for. Calls that find no partner there are left unknown.
CallPlans PlansIn(const SymbolicTrace& symbolic, const Trace& largest,
                  const Trace& target);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_TRACE_RECORDED_PLANS_H_
