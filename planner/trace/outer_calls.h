// The outermost operator calls of a trace: those that no other operator call
// encloses, each with all that it asks for. What can be run alone, through the
// dispatcher. Autograd nodes and fused groups around them are no operators.
//
//   O 1 ConvolutionBackward0          an autograd node
//   O 2 aten::convolution_backward    ┐ an outermost call
//   A 512 aten::convolution_backward  │
//   O 3 aten::sum                     │ inside of it
//   A 64 aten::sum                    ┘
#ifndef MEMPLAN_PLANNER_TRACE_OUTER_CALLS_H_
#define MEMPLAN_PLANNER_TRACE_OUTER_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/trace/event.h"
#include "planner/trace/outline.h"

namespace memplan {

struct OuterCall {
  uint32_t mark = kNoId;
  uint32_t begin_event = 0;  // the operator's own
  uint32_t end_event = 0;    // the first that is not of the call
  // It is or holds a convolution, whose library chooses among plans.
  bool is_convolution = false;
};

// In order; calls do not overlap.
std::vector<OuterCall> FindOuterCalls(const OutlinedTrace& outlined);

// Whether a mark of this name goes through the dispatcher: `aten::sum` does,
// `AddBackward0`, `torch::autograd::AccumulateGrad` and `fused_mul_add` do not.
bool IsOperatorName(std::string_view name);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_OUTER_CALLS_H_
