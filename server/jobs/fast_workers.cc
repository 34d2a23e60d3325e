#include "server/jobs/fast_workers.h"

#include <algorithm>
#include <utility>

#include "planner/base/status_macros.h"

namespace memplan {

std::optional<ProbeEnding> FastWorkers::HaveRecorder() {
  if (recorder_ != nullptr && recorder_->TakesOrders()) return std::nullopt;
  recorder_.reset();
  return Start(recorder_);
}

absl::Status FastWorkers::RenewRecorder() {
  dismissals().Dismiss(std::move(recorder_));
  WaitForThoseLetGo();
  MEMPLAN_ASSIGN_OR_RETURN(recorder_, Begin());
  return absl::OkStatus();
}

void FastWorkers::HaveVerifier() {
  if (verifier_ != nullptr || !may_prepare_ahead_) return;
  if (spec_.limit.budget && !LeavesRoomForTwo()) return;
  if (Start(verifier_)) may_prepare_ahead_ = false;
}

bool FastWorkers::VerifierIsReady() const {
  return verifier_ != nullptr && verifier_->WaitUntilPrepared().ok() &&
         verifier_->TakesOrders();
}

std::optional<ProbeEnding> FastWorkers::TakeTurns() {
  dismissals().Dismiss(std::move(recorder_));
  // The device holds what one worker takes, unless more is known to be there.
  if (!tools_.has_room_for_two) WaitForThoseLetGo();
  if (!VerifierIsReady()) {
    verifier_.reset();
    if (auto ending = Start(verifier_)) return ending;
  }
  recorder_ = std::move(verifier_);
  may_prepare_ahead_ = false;
  return std::nullopt;
}

void FastWorkers::LetGo() {
  dismissals().Dismiss(std::move(recorder_));
  dismissals().Dismiss(std::move(verifier_));
  may_prepare_ahead_ = true;
}

// Whether the budget holds a second worker with its model beside what the
// recordings took.
bool FastWorkers::LeavesRoomForTwo() const {
  const Bytes context = trials_.LargestContext();
  const std::optional<Bytes> budget = spec_.limit.budget;
  if (context == Bytes(0) || !budget) return false;
  Bytes recorded;
  Bytes loaded;
  for (const Trial& trial : trials_.trials()) {
    const auto held = [](const Peaks& peaks) {
      return peaks.reserved.value_or(peaks.allocated);
    };
    recorded = std::max(recorded, held(TrialPeaks(trial)));
    loaded = std::max(loaded, held(trial.load_peaks));
  }
  return recorded * 4 + loaded + context * 2 <= *budget;
}

// Batch and steps of a program do not count until it is run.
RunBatch FastWorkers::AnyBatch() const {
  return {std::get<SearchOptions>(spec_.task).first_batch,
          TrialPurpose::kRecord};
}

absl::StatusOr<FastWorkers::Session> FastWorkers::Begin() const {
  return tools_.runner.Begin({.device_id = spec_.device_id,
                              .device = gpu::DeviceKind::kCuda,
                              .niceness = spec_.niceness},
                             tools_.cancel);
}

// Has a worker load the program, and does not wait for that.
std::optional<ProbeEnding> FastWorkers::Start(Session& session) {
  auto begun = Begin();
  if (begun.ok()) {
    session = *std::move(begun);
    session->Prepare(trials_.Order(AnyBatch()));
    return std::nullopt;
  }
  if (absl::IsCancelled(begun.status())) return CancelledEnding();
  trials_.Tell(begun.status());
  return FailedEnding(ToProbeError(begun.status()));
}

}  // namespace memplan
