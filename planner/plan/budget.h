// The two limits a user can name. A cap limits the allocator's bytes; a budget
// limits the whole process on the device, so that cap = budget − context, and
// the context is known only after a trial. Pure.
#ifndef MEMPLAN_PLANNER_PLAN_BUDGET_H_
#define MEMPLAN_PLANNER_PLAN_BUDGET_H_

#include <optional>
#include <span>

#include "planner/base/bytes.h"
#include "planner/plan/trial.h"

namespace memplan {

// At most one is set; none means the device itself.
struct MemoryLimit {
  std::optional<Bytes> cap;
  std::optional<Bytes> budget;
  friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

// The cap for the next trial: the cap itself, or the budget less the largest
// context seen in `trials` (the whole budget before the first). Unset if there
// is no limit. Never below 0.
std::optional<Bytes> CapForNextTrial(const MemoryLimit& limit,
                                     std::span<const Trial> trials);

// `trial` with its outcome turned to kOutOfMemory, and a message that says so,
// if it ran but its reserved (without one, allocated) peak and context together
// exceed the budget. Otherwise unchanged.
Trial JudgedByBudget(Trial trial, const MemoryLimit& limit);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_BUDGET_H_
