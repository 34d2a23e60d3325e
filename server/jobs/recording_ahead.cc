#include "server/jobs/recording_ahead.h"

#include <spdlog/spdlog.h>

#include <system_error>
#include <utility>

namespace memplan {

RecordingAhead::RecordingAhead(std::unique_ptr<WorkerSession> worker,
                               TrialOrder record, TrialOrder program)
    : worker_(std::move(worker)),
      record_(std::move(record)),
      program_(std::move(program)),
      result_(absl::UnavailableError("nothing was recorded ahead")) {
  try {
    thread_ = std::thread([this] { Work(); });
  } catch (const std::system_error& error) {
    spdlog::warn("no batch is recorded beside another: {}", error.what());
    Work();
  }
}

RecordingAhead::~RecordingAhead() { Interrupt(); }

const absl::StatusOr<TrialResult>& RecordingAhead::Wait() {
  if (thread_.joinable()) thread_.join();
  return result_;
}

std::unique_ptr<WorkerSession> RecordingAhead::TakeWorker() {
  (void)Wait();
  return std::move(worker_);
}

void RecordingAhead::Interrupt() {
  if (!thread_.joinable()) return;
  worker_->Interrupt();
  thread_.join();
}

void RecordingAhead::Work() {
  result_ = worker_->Run(record_, [](const gpu::Progress& /*progress*/) {});
  if (result_.ok() && worker_->TakesOrders()) {
    worker_->Prepare(program_, gpu::Preparation::kProgram);
  }
}

bool IsAsUnderALargerCap(const Trial& trial) {
  return trial.outcome == TrialOutcome::kFits && FailedRequests(trial) == 0 &&
         AllocationRetries(trial) == 0;
}

}  // namespace memplan
