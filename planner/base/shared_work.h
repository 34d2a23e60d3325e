// Independent pieces of one computation, which somebody else may do side by side.
// The planner starts no threads: whoever calls it may lend it some for the length
// of a call. What comes out does not depend on how many there are.
#ifndef MEMPLAN_PLANNER_BASE_SHARED_WORK_H_
#define MEMPLAN_PLANNER_BASE_SHARED_WORK_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace memplan {

// Does a piece; given which worker does it, from 0, and which piece it is.
using PieceOfWork = absl::FunctionRef<void(size_t worker, size_t piece)>;

// Thread-safe.
class WorkSharer {
 public:
  virtual ~WorkSharer() = default;
  // How many do pieces side by side at most; at least 1.
  virtual size_t most_workers() const = 0;
  // Calls `work` once for each piece below `count`, and returns when all are done.
  // Each of at most `workers` workers does one piece after the other. `work` does
  // not throw.
  virtual void Share(size_t count, size_t workers, PieceOfWork work) const = 0;
};

// How many workers share `count` pieces; at least 1, and 1 where `sharer` is null.
size_t WorkersFor(const WorkSharer* sharer, size_t count);

// As WorkSharer::Share; where `sharer` is null the caller does all, as worker 0.
void ShareWork(const WorkSharer* sharer, size_t count, size_t workers,
               PieceOfWork work);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_BASE_SHARED_WORK_H_
