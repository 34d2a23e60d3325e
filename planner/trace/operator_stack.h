// Which operators are open while one walks through a trace. An operator has no
// event for its end; it is over when another begins at its depth or above:
//
//   O 1 linear      linear
//   O 2 addmm       linear › addmm
//   A 64 addmm      (depth 2)
//   O 2 relu        linear › relu
//   O 1 mean        mean
//
// So the last operator of a depth may be over without a sign; an allocation says
// at which depth the one that asked for it is.
#ifndef MEMPLAN_PLANNER_TRACE_OPERATOR_STACK_H_
#define MEMPLAN_PLANNER_TRACE_OPERATOR_STACK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/trace/event.h"

namespace memplan {

struct OpenOperator {
  uint32_t event = kNoId;  // index of its kOperator
  uint32_t depth = 0;
};

// Not thread-safe.
class OperatorStack {
 public:
  // `event` is a kOperator's index, `depth` its depth, at least 1.
  void Begin(uint32_t event, uint32_t depth) {
    while (!open_.empty() && open_.back().depth >= depth) open_.pop_back();
    open_.push_back({event, depth});
  }
  // A phase begins: no operator is open.
  void Clear() { open_.clear(); }

  // From the outermost in; depths rise, mostly by one.
  std::span<const OpenOperator> open() const { return open_; }

  // The event of the operator open at `depth`; kNoId if there is none.
  uint32_t At(uint32_t depth) const {
    const auto found = std::lower_bound(
        open_.begin(), open_.end(), depth,
        [](const OpenOperator& one, uint32_t d) { return one.depth < d; });
    return found != open_.end() && found->depth == depth ? found->event : kNoId;
  }

 private:
  std::vector<OpenOperator> open_;
};

// The depth of the innermost open operator called `name` (an id) among the 256
// innermost; 0 if there is none. `events` are those of the stack's trace.
inline uint16_t DepthOfInnermost(const OperatorStack& operators,
                                 std::span<const TraceEvent> events,
                                 uint32_t name) {
  if (name == kNoId) return 0;
  constexpr size_t kSearched = 256;
  std::span<const OpenOperator> open = operators.open();
  open = open.last(std::min(open.size(), kSearched));
  for (auto one = open.rbegin(); one != open.rend(); ++one) {
    if (events[one->event].name == name) {
      return static_cast<uint16_t>(one->depth);
    }
  }
  return 0;
}

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_OPERATOR_STACK_H_
