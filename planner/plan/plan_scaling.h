// A call's plan at a batch where it was not run, from plans at batches near by.
//
//   batch       32      …    119   120        structure: the order of requests
//   scratch      9            40    41          and frees, without sizes
//
// Sizes of one structure lie on a line near by. What a call returns does so
// exactly. Of scratch, two neighbours that are equal make it constant, two that
// grow as the batch does make it proportional; else the line goes to the farthest
// plan of that structure, since neighbours alone show mostly their rounding.
#ifndef MEMPLAN_PLANNER_PLAN_PLAN_SCALING_H_
#define MEMPLAN_PLANNER_PLAN_PLAN_SCALING_H_

#include <cstdint>
#include <span>

#include "planner/trace/call_plan.h"

namespace memplan {

// A plan and the batch at which the call took it. Not owned.
struct PlanPoint {
  int64_t batch = 0;
  const CallPlan* plan = nullptr;
};

// The same requests and frees in one order, whatever their sizes.
bool HaveOneStructure(const CallPlan& a, const CallPlan& b);

// The plan of `nearest`, with sizes for `batch`. `others` are plans of the same
// call at other batches, those of another structure included; all have as many
// outputs. Every plan is one that CheckCallPlan passes. No size is below 1.
CallPlan ScalePlan(const PlanPoint& nearest, std::span<const PlanPoint> others,
                   int64_t batch);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_PLAN_SCALING_H_
