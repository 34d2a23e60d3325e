#include "tests/planner/trace/recorded_plans.h"

#include <cstdint>
#include <map>
#include <vector>

#include "planner/trace/alignment.h"
#include "planner/trace/event.h"
#include "planner/trace/outer_calls.h"
#include "planner/trace/outline.h"
#include "planner/trace/pairing.h"

namespace memplan::testing {

CallPlan PlanOf(const Trace& trace, const OuterCall& call) {
  CallPlan plan;
  std::map<uint32_t, uint32_t> requests;  // by block
  for (uint32_t i = call.begin_event; i < call.end_event; ++i) {
    const TraceEvent& event = trace.events[i];
    if (event.kind == EventKind::kAlloc) {
      const auto request = static_cast<uint32_t>(requests.size());
      requests[event.link] = request;
      plan.push_back({request, event.bytes});
    } else if (event.kind == EventKind::kFree &&
               requests.contains(event.link)) {
      plan.push_back({requests[event.link], 0});
    }
  }
  return plan;
}

namespace {

std::map<uint32_t, OuterCall> CallsByMark(const OutlinedTrace& outlined) {
  std::map<uint32_t, OuterCall> calls;
  for (const OuterCall& call : FindOuterCalls(outlined)) {
    calls[call.mark] = call;
  }
  return calls;
}

}  // namespace

CallPlans PlansIn(const SymbolicTrace& symbolic, const Trace& largest,
                  const Trace& target) {
  PathTable paths;
  const Outline left = MakeOutline(largest, paths);
  const Outline right = MakeOutline(target, paths);
  const Alignment alignment = Align(left.paths, right.paths).value();
  const std::vector<uint32_t> partners = PairMarks(left, alignment);
  const std::vector<OuterCall> left_calls = FindOuterCalls({largest, left});
  const std::map<uint32_t, OuterCall> right_calls =
      CallsByMark({target, right});

  CallPlans plans;
  plans.of_call.assign(symbolic.calls.size(), kNoId);
  auto outer = left_calls.begin();
  for (size_t i = 0; i < symbolic.calls.size(); ++i) {
    const uint32_t event =
        symbolic.requests[symbolic.calls[i].requests.begin].event;
    while (outer->end_event <= event) ++outer;
    const auto found = right_calls.find(partners[outer->mark]);
    if (found == right_calls.end()) continue;
    plans.of_call[i] = static_cast<uint32_t>(plans.distinct.size());
    plans.distinct.push_back({PlanOf(target, found->second)});
  }
  return plans;
}

}  // namespace memplan::testing
