#include "server/jobs/fast_workers.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "planner/base/status_macros.h"

namespace memplan {

std::optional<ProbeEnding> FastWorkers::HaveRecorder() {
  if (recorder_ != nullptr && recorder_->TakesOrders()) return std::nullopt;
  recorder_.reset();
  return Start(recorder_, gpu::Preparation::kProgram);
}

absl::Status FastWorkers::RenewRecorder() {
  dismissals().Dismiss(std::move(recorder_));
  WaitForThoseLetGo();
  MEMPLAN_ASSIGN_OR_RETURN(recorder_, Begin());
  return absl::OkStatus();
}

void FastWorkers::HaveVerifier() {
  if (verifier_ != nullptr || ahead_ != nullptr || !may_prepare_ahead_) return;
  if (spec_.limit.budget && !LeavesRoomForTwo()) return;
  const bool rehearses = MayWorkBeside();
  if (Start(verifier_, rehearses ? gpu::Preparation::kRehearsedProgram
                                 : gpu::Preparation::kProgram)) {
    may_prepare_ahead_ = false;
  }
  if (rehearses) rehearsed_ = AnyBatch().batch;
}

void FastWorkers::HaveVerifierRecord(int64_t batch) {
  TrialOrder record = trials_.Order({batch, TrialPurpose::kRecord});
  if (verifier_ != nullptr || ahead_ != nullptr || !may_prepare_ahead_ ||
      !MayWorkBeside() || spec_.limit.budget || !record.request.cap) {
    return HaveVerifier();
  }
  auto begun = Begin();
  if (!begun.ok()) {
    may_prepare_ahead_ = false;
    return;
  }
  // Room for what a guess got wrong, before memory runs out under the cap.
  record.request.cap = Bytes(record.request.cap->count() / 4 * 3);
  record.request.stay = true;
  // It comes after the one that the recorder is about to record.
  record.trace_path =
      tools_.trace_path(static_cast<int>(trials_.trials().size()) + 2);
  ahead_ = std::make_unique<RecordingAhead>(
      *std::move(begun), std::move(record), trials_.Order(AnyBatch()));
}

void FastWorkers::TakeVerifierFromAhead() {
  if (ahead_ == nullptr) return;
  rehearsed_ = ahead_->batch();
  verifier_ = ahead_->TakeWorker();
  ahead_.reset();
}

std::unique_ptr<TrialResult> FastWorkers::TakeRecordedAhead(int64_t batch) {
  if (ahead_ == nullptr) return nullptr;
  if (ahead_->batch() != batch) {
    DropRecordedAhead();
    return nullptr;
  }
  std::unique_ptr<TrialResult> recorded;
  const absl::StatusOr<TrialResult>& result = ahead_->Wait();
  if (result.ok() && IsAsUnderALargerCap(result->trial)) {
    recorded = std::make_unique<TrialResult>(*result);
  } else {
    spdlog::info("batch {}, recorded ahead, is recorded once more: {}", batch,
                 result.ok() ? result->trial.message
                             : std::string(result.status().message()));
  }
  TakeVerifierFromAhead();
  return recorded;
}

void FastWorkers::DropRecordedAhead() {
  if (ahead_ == nullptr) return;
  ahead_->Interrupt();
  dismissals().Dismiss(ahead_->TakeWorker());
  ahead_.reset();
}

void FastWorkers::HaveHelpers() {
  if (!std::exchange(may_have_helpers_, false) || !MayWorkBeside()) return;
  for (int i = 2; i < tools_.workers_at_once; ++i) {
    Session helper;
    if (Start(helper, gpu::Preparation::kLibraries)) return;
    helpers_.push_back(std::move(helper));
  }
}

std::vector<WorkerSession*> FastWorkers::CallWorkers() {
  std::erase_if(helpers_,
                [](const Session& helper) { return !helper->TakesOrders(); });
  std::vector<WorkerSession*> workers = {recorder_.get()};
  for (const Session& helper : helpers_) workers.push_back(helper.get());
  return workers;
}

std::vector<FastWorkers::Session> FastWorkers::TakeCallWorkers() {
  std::vector<Session> workers;
  workers.push_back(std::move(recorder_));
  std::move(helpers_.begin(), helpers_.end(), std::back_inserter(workers));
  helpers_.clear();
  return workers;
}

void FastWorkers::DismissHelpers() {
  for (Session& helper : helpers_) dismissals().Dismiss(std::move(helper));
  helpers_.clear();
}

bool FastWorkers::VerifierIsReady() {
  TakeVerifierFromAhead();
  return verifier_ != nullptr && verifier_->WaitUntilPrepared().ok() &&
         verifier_->TakesOrders();
}

std::optional<ProbeEnding> FastWorkers::TakeTurns(int64_t batch) {
  dismissals().Dismiss(std::move(recorder_));
  DismissHelpers();
  // The device holds what one worker takes, unless more is known to be there.
  if (tools_.workers_at_once < 2) WaitForThoseLetGo();
  if (!VerifierIsReady() || batch == rehearsed_) {
    verifier_.reset();
    if (auto ending = Start(verifier_, gpu::Preparation::kProgram))
      return ending;
  }
  rehearsed_.reset();
  recorder_ = std::move(verifier_);
  may_prepare_ahead_ = false;
  return std::nullopt;
}

bool FastWorkers::MayWorkBeside() const {
  return tools_.workers_at_once >= 2 && !spec_.step.cudnn_benchmark;
}

void FastWorkers::LetGo() {
  DropRecordedAhead();
  dismissals().Dismiss(std::move(recorder_));
  dismissals().Dismiss(std::move(verifier_));
  DismissHelpers();
  may_prepare_ahead_ = true;
  may_have_helpers_ = true;
  rehearsed_.reset();
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

// The first that is recorded: small, and not the answer unless that is as small.
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

// Has a worker get ready, and does not wait for that.
std::optional<ProbeEnding> FastWorkers::Start(Session& session,
                                              gpu::Preparation preparation) {
  auto begun = Begin();
  if (begun.ok()) {
    session = *std::move(begun);
    session->Prepare(trials_.Order(AnyBatch()), preparation);
    return std::nullopt;
  }
  if (absl::IsCancelled(begun.status())) return CancelledEnding();
  trials_.Tell(begun.status());
  return FailedEnding(ToProbeError(begun.status()));
}

}  // namespace memplan
