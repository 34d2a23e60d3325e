#include "server/jobs/dismissals.h"

#include <spdlog/spdlog.h>

#include <system_error>
#include <utility>

namespace memplan {

void Dismissals::Dismiss(std::unique_ptr<WorkerSession> worker) {
  if (worker == nullptr) return;
  // Shared, so that it is still here if the thread does not start.
  const std::shared_ptr<WorkerSession> leaving = std::move(worker);
  try {
    threads_.emplace_back([leaving] { leaving->End(); });
  } catch (const std::system_error& error) {
    spdlog::warn("a worker's end is waited for: {}", error.what());
    leaving->End();
  }
}

void Dismissals::Wait() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace memplan
