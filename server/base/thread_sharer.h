// Lends the planner threads, which are gone when the work is done.
#ifndef MEMPLAN_SERVER_BASE_THREAD_SHARER_H_
#define MEMPLAN_SERVER_BASE_THREAD_SHARER_H_

#include <cstddef>

#include "planner/base/shared_work.h"

namespace memplan {

// Whoever calls is worker 0, and two threads are beside. Where no thread can be
// started, their pieces are done all the same. Thread-safe.
class ThreadSharer : public WorkSharer {
 public:
  // Fewer than three where there are fewer processors.
  size_t most_workers() const override;
  void Share(size_t count, size_t workers, PieceOfWork work) const override;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_THREAD_SHARER_H_
