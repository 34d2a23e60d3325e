// How long a program warms up: its first steps, unlike the later ones in what
// they ask for, as executors profile and compile, libraries choose and
// optimizers make their state. Told by requested bytes, which the allocator's own
// state does not change; a plan counts the worst of all steps either way.
#ifndef MEMPLAN_PLANNER_PLAN_WARM_UP_H_
#define MEMPLAN_PLANNER_PLAN_WARM_UP_H_

#include <optional>

#include "planner/plan/trial.h"

namespace memplan {

struct WarmUp {
  // The first steps of the trial, up to the last whose requested peak is not the
  // steady step's; 0 if all are alike.
  int steps = 0;
  // True if the steady step and the one before it are alike; otherwise more steps
  // may be unlike these.
  bool settled = false;
  double first_seconds = 0;   // what the first step took
  double steady_seconds = 0;  // what the steady one took
  int trial_number = 0;  // from 1: the trial that shows it; set by MakePlan
  friend bool operator==(const WarmUp&, const WarmUp&) = default;
};

// Of the trial's steps of kind kStep; unset if it has none.
std::optional<WarmUp> WarmUpOf(const Trial& trial);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_WARM_UP_H_
