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
#include <vector>

#include "planner/trace/call_plan.h"

namespace memplan {

// A plan and the batch at which the call took it. Not owned.
struct PlanPoint {
  int64_t batch = 0;
  const CallPlan* plan = nullptr;
};

// A size at a batch.
struct SizePoint {
  int64_t batch = 0;
  int64_t bytes = 0;
};

// The same requests and frees in one order, whatever their sizes.
bool HaveOneStructure(const CallPlan& a, const CallPlan& b);

// A plan that can be had with sizes for other batches. A value.
class ScalablePlan {
 public:
  // `others` are plans of the same call at other batches, those of another
  // structure included; all have as many outputs. Every plan is one that
  // CheckCallPlan passes. Nothing of them is kept.
  ScalablePlan(const PlanPoint& nearest, std::span<const PlanPoint> others);

  // The plan of `nearest`, with sizes for `batch`. No size is below 1.
  CallPlan At(int64_t batch) const;

 private:
  enum class Growth : uint8_t { kNone, kInProportion, kOnLine };
  // How a step's size goes with the batch.
  struct Size {
    Growth growth = Growth::kNone;
    int64_t batch = 0;  // of kOnLine: where the line goes to
    int64_t bytes = 0;
  };

  static Size ScratchSize(const SizePoint& nearest,
                          std::span<const SizePoint> others);

  int64_t batch_;
  CallPlan plan_;
  std::vector<Size> sizes_;  // by step
};

// ScalablePlan(nearest, others).At(batch).
CallPlan ScalePlan(const PlanPoint& nearest, std::span<const PlanPoint> others,
                   int64_t batch);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_PLAN_SCALING_H_
