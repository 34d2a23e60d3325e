#include "planner/base/shared_work.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace memplan {

size_t WorkersFor(size_t count) {
  const size_t processors = std::thread::hardware_concurrency();
  return std::max<size_t>(std::min({count, processors, kMostWorkers}), 1);
}

void ShareWork(size_t count, size_t workers,
               absl::FunctionRef<void(size_t worker, size_t piece)> work) {
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
