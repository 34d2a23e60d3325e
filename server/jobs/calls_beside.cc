#include "server/jobs/calls_beside.h"

#include <spdlog/spdlog.h>

#include <system_error>
#include <utility>

namespace memplan {

CallsBeside::CallsBeside(CallRuns& runs, const std::vector<DistinctCall>& calls,
                         std::unique_ptr<WorkerSession> worker,
                         std::chrono::milliseconds timeout)
    : runs_(runs), calls_(calls), worker_(std::move(worker)) {
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
  status_ = runs_.Run(calls_, *worker_, timeout);
  seconds_ = std::chrono::duration<double>(Clock::now() - begun).count();
  worker_->End();
  worker_.reset();
}

}  // namespace memplan
