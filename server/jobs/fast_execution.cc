#include "server/jobs/fast_execution.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/devices/context_reading.h"
#include "server/jobs/as_python_trains.h"
#include "server/jobs/call_runs.h"

namespace memplan {
namespace {

using Clock = std::chrono::steady_clock;
using End = std::variant<FastAnswer, ProbeEnding, FallBack>;

// Where a bisection has begun, it goes on.
bool IsOfBisection(const Trial& trial) {
  return trial.purpose == TrialPurpose::kSearch ||
         trial.purpose == TrialPurpose::kNeighbour;
}

class FastExecution {
 public:
  FastExecution(const ProbeSpec& spec, const ExecutionTools& tools,
                ProbeTrials& trials)
      : spec_(spec), tools_(tools), trials_(trials) {}

  End Run() {
    if (auto ending = Begin()) return *std::move(ending);
    while (true) {
      if (!trials_.MayGoOn()) return CancelledEnding();
      const FastDecision next = Decide();
      if (const auto* fall_back = std::get_if<FallBack>(&next)) {
        return *fall_back;
      }
      if (const auto* answer = std::get_if<SearchAnswer>(&next)) {
        Dismiss(recorder_);
        Dismiss(verifier_);
        return FastAnswer{*answer, search_->predicted()};
      }
      if (auto ending = Do(next)) return *std::move(ending);
    }
  }

 private:
  using Session = std::unique_ptr<WorkerSession>;

  static double SecondsSince(Clock::time_point begun) {
    return std::chrono::duration<double>(Clock::now() - begun).count();
  }

  FastDecision Decide() {
    const Clock::time_point begun = Clock::now();
    FastDecision next = search_->Next();
    spdlog::debug("the planner took {:.3f} s to say what is next",
                  SecondsSince(begun));
    return next;
  }

  // With what is known of before.
  std::optional<ProbeEnding> Begin() {
    search_.emplace(FastSearchOptions{
        .search = std::get<SearchOptions>(spec_.task),
        .conditions = {.settings = {},
                       .cap = std::nullopt,
                       .device_free = std::nullopt,
                       .device_total = AllocatorConditions{}.device_total},
        .has_segments = true});
    begun_anew_ = trials_.begun_anew();
    AddTrialsOfBefore();
    if (trials_.trials().empty()) {
      if (auto ending = AddEarlierRecordings()) return ending;
    }
    search_->SetCap(Cap());
    return std::nullopt;
  }

  void AddTrialsOfBefore() {
    int number = 0;
    for (const Trial& trial : trials_.trials()) {
      ++number;
      if (trial.purpose == TrialPurpose::kVerify) {
        search_->AddVerification(trial, TraceOf(trial, number));
      } else {
        search_->AddRecording(trial, TraceOf(trial, number));
      }
    }
  }

  // Of an earlier probe of the same program, if the worker is still the same. What
  // it held outside the allocator stands in for what no run has shown yet.
  std::optional<ProbeEnding> AddEarlierRecordings() {
    if (!tools_.earlier_recordings) return std::nullopt;
    const auto recordings = tools_.earlier_recordings();
    if (recordings.empty()) return std::nullopt;
    if (auto ending = HaveRecorder()) return ending;
    HaveVerifier();
    const auto prepared = recorder_->WaitUntilPrepared();
    if (absl::IsCancelled(prepared.status())) return CancelledEnding();
    if (!prepared.ok()) return std::nullopt;  // the first trial will tell
    Bytes context;
    for (const EarlierRecording& recording : recordings) {
      if (recording.worker_version != prepared->worker_version) continue;
      auto trace = ReadTrace(recording.trace_path);
      if (!trace.ok()) continue;
      search_->AddKnownTrace(recording.batch, *std::move(trace));
      context = std::max(context, recording.context.value_or(Bytes(0)));
    }
    trials_.ExpectContext(context);
    return std::nullopt;
  }

  absl::StatusOr<Trace> ReadTrace(const std::string& path) const {
    MEMPLAN_ASSIGN_OR_RETURN(Trace trace, tools_.read_trace(path));
    return AsSpecTrains(spec_, std::move(trace));
  }

  // The trace of a run that got through all its steps.
  std::optional<Trace> TraceOf(const Trial& trial, int number) const {
    const int steps = spec_.steps + gpu::FurtherSteps(spec_.step);
    if (static_cast<int>(trial.steps.size()) < steps ||
        trial.trace_events == 0 || trial.trace_overflowed) {
      return std::nullopt;
    }
    auto trace = ReadTrace(tools_.trace_path(number));
    if (trace.ok()) return *std::move(trace);
    spdlog::warn("the trace of trial {} says nothing: {}", number,
                 std::string(trace.status().message()));
    return std::nullopt;
  }

  // What the allocator may take: the spec's limit, else what the device has left
  // for it.
  std::optional<Bytes> Cap() const {
    if (spec_.limit.cap || spec_.limit.budget) return trials_.Cap();
    if (!tools_.device_free) return std::nullopt;
    return std::max(Bytes(0), *tools_.device_free - trials_.LargestContext());
  }

  std::optional<ProbeEnding> Do(const FastDecision& next) {
    if (const auto* record = std::get_if<RecordBatch>(&next)) {
      return Record(record->batch);
    }
    if (const auto* calls = std::get_if<RunCallsAt>(&next)) {
      return RunCalls(*calls);
    }
    return Verify(std::get<RunBatch>(next));
  }

  std::optional<ProbeEnding> Record(int64_t batch) {
    if (auto ending = HaveRecorder()) return ending;
    HaveVerifier();
    const RunBatch run{batch, TrialPurpose::kRecord};
    if (auto ending = Try(run)) return ending;
    if (HasBegunAnew()) return BeginAnew();
    const auto& trial = trials_.trials().back();
    search_->AddRecording(trial, LastTrace());
    search_->SetCap(Cap());
    HaveVerifier();
    return std::nullopt;
  }

  // For whoever compares it with what the run shows.
  void TellPrediction(int64_t batch) const {
    const auto& predicted = search_->predicted();
    if (!predicted || predicted->safe.batch != batch) return;
    const auto& peaks = predicted->safe.outcome.peaks;
    spdlog::info(
        "batch {} is predicted to run, with peaks of {} bytes allocated and {} "
        "reserved",
        batch, peaks.allocated.bytes.count(), peaks.reserved.bytes.count());
  }

  // In a process that has run nothing else.
  std::optional<ProbeEnding> Verify(const RunBatch& run) {
    TellPrediction(run.batch);
    Dismiss(recorder_);
    if (!IsReady(verifier_)) {
      verifier_.reset();
      if (auto ending = Start(verifier_)) return ending;
    }
    // It knows the program: should operators have to be run again, it can.
    recorder_ = std::move(verifier_);
    may_prepare_ahead_ = false;
    if (auto ending = Try(run)) return ending;
    if (HasBegunAnew()) return BeginAnew();
    search_->AddVerification(trials_.trials().back(), LastTrace());
    search_->SetCap(Cap());
    return std::nullopt;
  }

  std::optional<ProbeEnding> RunCalls(const RunCallsAt& order) {
    tools_.on_progress(CallsProgress(order));
    HaveVerifier();
    const Clock::time_point begun = Clock::now();
    CallRuns runs(tools_.call_results, trials_.Cap(),
                  gpu::CudnnSwitches(spec_.step));
    for (int attempt = 0; attempt < kCallAttempts; ++attempt) {
      if (auto ending = HaveRecorder()) return ending;
      const absl::Status status =
          runs.Run(order.calls, *recorder_, trials_.Timeout());
      if (absl::IsCancelled(status)) return CancelledEnding();
      if (status.ok()) break;
      spdlog::warn("{} operators of batch {} could not be run alone: {}",
                   order.calls.size(), order.batch,
                   std::string(status.message()));
      recorder_.reset();
    }
    spdlog::info("{} operators of batch {} were run alone in {:.3f} s",
                 order.calls.size(), order.batch, SecondsSince(begun));
    const absl::Status added = search_->AddCalls(order, runs.Take());
    if (!added.ok()) return FailedEnding(ToProbeError(added));
    return std::nullopt;
  }

  ProbeProgress CallsProgress(const RunCallsAt& order) const {
    ProbeProgress progress =
        trials_.FirstProgress({order.batch, TrialPurpose::kRecord});
    progress.phase = "calls";
    return progress;
  }

  // In the recorder's process, or asked again in a fresh one in its place.
  std::optional<ProbeEnding> Try(const RunBatch& run) {
    bool is_again = false;
    return trials_.Try(
        run,
        [&](TrialOrder order, const OnWorkerProgress& on_progress)
            -> absl::StatusOr<TrialResult> {
          if (std::exchange(is_again, true)) {
            Dismiss(recorder_);
            MEMPLAN_ASSIGN_OR_RETURN(recorder_, BeginWorker());
          }
          order.request.stay = true;
          absl::StatusOr<TrialResult> result =
              recorder_->Run(order, on_progress);
          // With two workers on it, the device's growth is not one's own.
          if (result.ok() && verifier_ != nullptr &&
              result->trial.context_source == kContextFromDevice) {
            result->trial.context.reset();
            result->trial.context_source.clear();
          }
          return result;
        },
        OwnWorkers::kSome);
  }

  std::optional<Trace> LastTrace() const {
    return TraceOf(trials_.trials().back(),
                   static_cast<int>(trials_.trials().size()));
  }

  // Whether the trials were dropped: their workers were of another version.
  bool HasBegunAnew() const { return begun_anew_ != trials_.begun_anew(); }

  std::optional<ProbeEnding> BeginAnew() {
    Dismiss(recorder_);
    Dismiss(verifier_);
    may_prepare_ahead_ = true;
    return Begin();
  }

  // A worker that takes orders, prepared or not.
  std::optional<ProbeEnding> HaveRecorder() {
    if (recorder_ != nullptr && recorder_->TakesOrders()) return std::nullopt;
    recorder_.reset();
    return Start(recorder_);
  }

  // The worker that will verify, if it can be had by now: only a courtesy, so
  // that failures do not count. With a budget it waits until the first has shown
  // what a worker holds outside its allocator, since two cannot be told apart.
  void HaveVerifier() {
    if (verifier_ != nullptr || !may_prepare_ahead_) return;
    if (spec_.limit.budget && !LeavesRoomForTwo()) return;
    if (Start(verifier_)) may_prepare_ahead_ = false;
  }

  // Whether the budget holds a second worker with its model beside what the
  // recordings took.
  bool LeavesRoomForTwo() const {
    Bytes context = trials_.LargestContext();
    if (context == Bytes(0)) return false;
    Bytes recorded;
    Bytes loaded;
    for (const Trial& trial : trials_.trials()) {
      const auto held = [](const Peaks& peaks) {
        return peaks.reserved.value_or(peaks.allocated);
      };
      recorded = std::max(recorded, held(TrialPeaks(trial)));
      loaded = std::max(loaded, held(trial.load_peaks));
    }
    return recorded * 4 + loaded + context * 2 <= *spec_.limit.budget;
  }

  // Batch and steps of a program do not count until it is run.
  RunBatch AnyBatch() const {
    return {std::get<SearchOptions>(spec_.task).first_batch,
            TrialPurpose::kRecord};
  }

  absl::StatusOr<Session> BeginWorker() const {
    return tools_.runner.Begin({.device_id = spec_.device_id,
                                .device = gpu::DeviceKind::kCuda,
                                .niceness = spec_.niceness},
                               tools_.cancel);
  }

  // Has a worker load the program, and does not wait for that.
  std::optional<ProbeEnding> Start(Session& session) {
    auto begun = BeginWorker();
    if (begun.ok()) {
      session = *std::move(begun);
      session->Prepare(trials_.Order(AnyBatch()));
      return std::nullopt;
    }
    if (absl::IsCancelled(begun.status())) return CancelledEnding();
    trials_.Tell(begun.status());
    return FailedEnding(ToProbeError(begun.status()));
  }

  // Whether it waits with its model loaded. One that died meanwhile is nobody's
  // trial.
  static bool IsReady(const Session& session) {
    return session != nullptr && session->WaitUntilPrepared().ok() &&
           session->TakesOrders();
  }

  static void Dismiss(Session& session) {
    if (session != nullptr) session->End();
    session.reset();
  }

  static constexpr int kCallAttempts = 2;

  const ProbeSpec& spec_;
  const ExecutionTools& tools_;
  ProbeTrials& trials_;
  std::optional<FastSearch> search_;
  int begun_anew_ = 0;
  Session recorder_;
  Session verifier_;
  bool may_prepare_ahead_ = true;
};

}  // namespace

bool IsPredicted(const ProbeSpec& spec, const ExecutionTools& tools,
                 const std::vector<Trial>& known) {
  return std::holds_alternative<SearchOptions>(spec.task) &&
         spec.method != SearchMethod::kBisect && spec.device_id != "cpu" &&
         tools.read_trace != nullptr &&
         std::none_of(known.begin(), known.end(), IsOfBisection);
}

FallBackKind KindOfFallBack(std::span<const Trial> trials) {
  int recorded = 0;
  bool was_verified = false;
  for (const Trial& trial : trials) {
    if (trial.outcome != TrialOutcome::kFits &&
        trial.outcome != TrialOutcome::kOutOfMemory) {
      return FallBackKind::kOtherFailure;
    }
    was_verified |= trial.purpose == TrialPurpose::kVerify;
    if (trial.outcome == TrialOutcome::kFits && trial.trace_events > 0 &&
        !trial.trace_overflowed) {
      ++recorded;
    }
  }
  if (was_verified) return FallBackKind::kNotVerified;
  return recorded < 2 ? FallBackKind::kNotRecorded
                      : FallBackKind::kNotPredicted;
}

End ExecuteFastSearch(const ProbeSpec& spec, const ExecutionTools& tools,
                      ProbeTrials& trials) {
  return FastExecution(spec, tools, trials).Run();
}

}  // namespace memplan
