#include "planner/trace/outer_calls.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/trace/event.h"
#include "planner/trace/outline.h"

namespace memplan {

bool IsOperatorName(std::string_view name) {
  return name.find("::") != std::string_view::npos &&
         !name.starts_with("torch::") && !name.starts_with("autograd::");
}

std::vector<OuterCall> FindOuterCalls(const OutlinedTrace& outlined) {
  const Outline& outline = outlined.outline;
  std::vector<OuterCall> calls;
  for (uint32_t mark = 0; mark < outline.events.size(); ++mark) {
    const uint32_t begin = outline.events[mark];
    const TraceEvent& event = outlined.trace.events[begin];
    if (event.kind != EventKind::kOperator) continue;
    const std::string_view name = outlined.trace.Name(event);
    if (calls.empty() || begin >= calls.back().end_event) {
      if (!IsOperatorName(name)) continue;
      calls.push_back({mark, begin, outline.ends[mark], false});
    }
    if (name.find("convolution") != std::string_view::npos) {
      calls.back().is_convolution = true;
    }
  }
  return calls;
}

}  // namespace memplan
