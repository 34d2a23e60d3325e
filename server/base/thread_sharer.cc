#include "server/base/thread_sharer.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace memplan {

size_t ThreadSharer::most_workers() const {
  constexpr size_t kMost = 3;
  const size_t processors = std::thread::hardware_concurrency();
  return std::clamp<size_t>(processors, 1, kMost);
}

void ThreadSharer::Share(size_t count, size_t workers, PieceOfWork work) const {
  std::atomic<size_t> taken = 0;
  const auto work_as = [&](size_t worker) {
    for (size_t piece = taken++; piece < count; piece = taken++) {
      work(worker, piece);
    }
  };
  std::vector<std::jthread> threads;  // joined at the end
  threads.reserve(workers);
  for (size_t worker = 1; worker < workers; ++worker) {
    try {
      threads.emplace_back(work_as, worker);
    } catch (const std::system_error&) {
      break;
    }
  }
  work_as(0);
}

}  // namespace memplan
