// Independent pieces of one computation, shared between a few threads that are
// gone when it is over. What comes out does not depend on how many there are.
#ifndef MEMPLAN_PLANNER_BASE_SHARED_WORK_H_
#define MEMPLAN_PLANNER_BASE_SHARED_WORK_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace memplan {

// Whoever calls, and two threads beside.
inline constexpr size_t kMostWorkers = 3;

// How many workers share `count` pieces: fewer where there are fewer processors.
// At least 1.
size_t WorkersFor(size_t count);

// Calls `work` once for each piece below `count`. Each worker, from 0 to
// `workers` − 1, does one piece after the other; worker 0 is whoever calls. Where
// no thread can be started the others' pieces are done all the same. `work` does
// not throw.
void ShareWork(size_t count, size_t workers,
               absl::FunctionRef<void(size_t worker, size_t piece)> work);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_BASE_SHARED_WORK_H_
