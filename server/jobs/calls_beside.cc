#include "server/jobs/calls_beside.h"

#include <spdlog/spdlog.h>

#include <system_error>
#include <utility>

#include "server/jobs/dismissals.h"

namespace memplan {

CallsBeside::CallsBeside(CallRuns& runs, const std::vector<DistinctCall>& calls,
                         std::vector<std::unique_ptr<WorkerSession>> workers,
                         std::chrono::milliseconds timeout)
    : runs_(runs), calls_(calls), workers_(std::move(workers)) {
  try {
    thread_ = std::thread([this, timeout] { Run(timeout); });
  } catch (const std::system_error& error) {
    spdlog::warn("operators are not run beside a trial: {}", error.what());
    Run(timeout);
  }
}

const absl::Status& CallsBeside::Wait() {
  if (thread_.joinable()) thread_.join();
  return status_;
}

void CallsBeside::Run(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  std::vector<WorkerSession*> workers;
  for (const auto& worker : workers_) workers.push_back(worker.get());
  status_ = runs_.Run(calls_, workers, timeout);
  seconds_ = std::chrono::duration<double>(Clock::now() - begun).count();
  Dismissals ends;
  for (auto& worker : workers_) ends.Dismiss(std::move(worker));
}

}  // namespace memplan
