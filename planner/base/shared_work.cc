#include "planner/base/shared_work.h"

#include <algorithm>

namespace memplan {

size_t WorkersFor(const WorkSharer* sharer, size_t count) {
  if (sharer == nullptr) return 1;
  return std::max<size_t>(std::min(count, sharer->most_workers()), 1);
}

void ShareWork(const WorkSharer* sharer, size_t count, size_t workers,
               PieceOfWork work) {
  if (sharer != nullptr && workers > 1) {
    sharer->Share(count, workers, work);
    return;
  }
  for (size_t piece = 0; piece < count; ++piece) work(0, piece);
}

}  // namespace memplan
