// What an operator call asks of the allocator when it runs alone, step by step,
// and what it does instead when memory for that is refused.
#ifndef MEMPLAN_PLANNER_TRACE_CALL_PLAN_H_
#define MEMPLAN_PLANNER_TRACE_CALL_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace memplan {

// One thing that a call asks for. Its requests are numbered 0, 1, 2, … in their
// order.
struct CallStep {
  uint32_t request = 0;
  int64_t bytes = 0;  // above 0: it is asked for; 0: it is freed
  friend bool operator==(const CallStep&, const CallStep&) = default;
};

// A call from its beginning to its end. What is not freed is its output.
using CallPlan = std::vector<CallStep>;

// What is known of irregular calls at one shape.
struct CallPlans {
  // For each distinct call what it does: as it likes, then what it does when
  // memory for that is refused, and so on. The first steps that two neighbours
  // have in common are taken only once.
  std::vector<std::vector<CallPlan>> distinct;
  // By call of the symbolic trace: an index into `distinct`, or kNoId. Empty:
  // nothing is known.
  std::vector<uint32_t> of_call;
};

// kInvalidArgument, with the step's index, unless requests are numbered in their
// order, each is freed once at most, after it was made, none is above 1 EiB, and
// `outputs` of them are not freed.
absl::Status CheckCallPlan(const CallPlan& plan, size_t outputs);

// By request: whether it is freed within the plan. `plan` was checked.
std::vector<bool> FreedRequests(const CallPlan& plan);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_CALL_PLAN_H_
