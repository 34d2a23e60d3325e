#include "server/jobs/fast_execution.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/thread_sharer.h"
#include "server/devices/context_reading.h"
#include "server/jobs/as_python_trains.h"
#include "server/jobs/call_runs.h"
#include "server/jobs/calls_beside.h"
#include "server/jobs/fast_workers.h"
#include "server/jobs/stage_clock.h"
#include "server/jobs/trial_traces.h"

namespace memplan {
namespace {

using Clock = std::chrono::steady_clock;
using End = std::variant<FastAnswer, ProbeEnding, FallBack>;

// Where a bisection has begun, it goes on.
bool IsOfBisection(const Trial& trial) {
  return trial.purpose == TrialPurpose::kSearch ||
         trial.purpose == TrialPurpose::kNeighbour;
}

constexpr std::string_view kStepPhase = "step";

// Where a worker's words for what it does are stages of their own.
bool IsStage(std::string_view phase) {
  return phase == "load" || phase == kStepPhase;
}

// Behind the peaks; empty where no interval is named.
std::string IntervalWords(const std::optional<PeakInterval>& interval) {
  if (!interval) return "";
  const auto& [allocated, reserved] = *interval;
  return absl::StrCat(", within ", allocated.least.count(), " to ",
                      allocated.most.count(), " allocated and ",
                      reserved.least.count(), " to ", reserved.most.count(),
                      " reserved");
}

class FastExecution {
 public:
  FastExecution(const ProbeSpec& spec, const ExecutionTools& tools,
                ProbeTrials& trials)
      : spec_(spec),
        tools_(tools),
        trials_(trials),
        traces_(spec, tools),
        stages_(tools.now, "begin"),
        workers_(spec, tools, trials) {}

  End Run() {
    End end = RunToTheEnd();
    // Only an answer is told before the workers are gone.
    if (!std::holds_alternative<FastAnswer>(end)) {
      workers_.WaitForThoseLetGo();
    }
    return end;
  }

 private:
  End RunToTheEnd() {
    if (auto ending = Begin()) return *std::move(ending);
    while (true) {
      if (!trials_.MayGoOn()) return CancelledEnding();
      stages_.Enter("planner");
      const FastDecision next = search_->Next();
      if (const auto* fall_back = std::get_if<FallBack>(&next)) {
        return *fall_back;
      }
      if (const auto* answer = std::get_if<SearchAnswer>(&next)) {
        stages_.Enter("end");
        workers_.LetGo();
        return FastAnswer{*answer, search_->predicted()};
      }
      if (auto ending = Do(next)) return *std::move(ending);
    }
  }

  // With what is known of before.
  std::optional<ProbeEnding> Begin() {
    search_ = std::make_unique<FastSearch>(FastSearchOptions{
        .search = std::get<SearchOptions>(spec_.task),
        .conditions = {.settings = {},
                       .cap = std::nullopt,
                       .device_free = std::nullopt,
                       .device_total = AllocatorConditions{}.device_total},
        .has_segments = true,
        .traces_are_as_run = TrainsAsWorkersDo(spec_),
        .sharer = &sharer_});
    begun_anew_ = trials_.begun_anew();
    batches_with_calls_.clear();
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
        search_->AddVerification(trial, traces_.Of(trial, number));
      } else {
        search_->AddRecording(trial, traces_.Of(trial, number));
      }
    }
  }

  // Of an earlier probe of the same program, if the worker is still the same. What
  // it held outside the allocator stands in for what no run has shown yet.
  std::optional<ProbeEnding> AddEarlierRecordings() {
    if (!tools_.earlier_recordings) return std::nullopt;
    const auto recordings = tools_.earlier_recordings();
    if (recordings.empty()) return std::nullopt;
    if (auto ending = workers_.HaveRecorder()) return ending;
    workers_.HaveVerifier();
    stages_.Enter("wait for the recorder");
    const auto prepared = workers_.recorder().WaitUntilPrepared();
    if (absl::IsCancelled(prepared.status())) return CancelledEnding();
    if (!prepared.ok()) return std::nullopt;  // the first trial will tell
    stages_.Enter("earlier traces");
    Bytes context;
    for (const EarlierRecording& recording : recordings) {
      if (recording.worker_version != prepared->worker_version) continue;
      auto trace = traces_.Read(recording.trace_path);
      if (!trace.ok()) continue;
      search_->AddKnownTrace(recording.batch, *std::move(trace));
      context = std::max(context, recording.context.value_or(Bytes(0)));
    }
    trials_.ExpectContext(context);
    workers_.HaveHelpers();
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
    stages_.Enter("start of workers");
    if (auto ending = workers_.HaveRecorder()) return ending;
    stages_.Enter(absl::StrCat("batch ", batch, ": beside"));
    const auto recorded = workers_.TakeRecordedAhead(batch);
    stages_.Enter("start of workers");
    if (const auto second = search_->SecondRecording()) {
      workers_.HaveVerifierRecord(*second);
    } else {
      workers_.HaveVerifier();
    }
    if (auto ending =
            Try({batch, TrialPurpose::kRecord}, nullptr, recorded.get())) {
      return ending;
    }
    if (HasBegunAnew()) return BeginAnew();
    if (trials_.trials().back().outcome != TrialOutcome::kFits) {
      workers_.DropRecordedAhead();
    }
    search_->AddRecording(trials_.trials().back(), LastTrace());
    search_->SetCap(Cap());
    workers_.HaveVerifier();
    return std::nullopt;
  }

  // For whoever compares it with what the run shows.
  void TellPrediction(int64_t batch) const {
    const auto& predicted = search_->predicted();
    if (!predicted || predicted->safe.batch != batch) return;
    const auto& peaks = predicted->safe.outcome.peaks;
    spdlog::info(
        "batch {} is predicted to run, with peaks of {} bytes allocated and {} "
        "reserved{}",
        batch, peaks.allocated.bytes.count(), peaks.reserved.bytes.count(),
        IntervalWords(predicted->safe_interval));
  }

  // In a process that has run nothing else.
  std::optional<ProbeEnding> Verify(const RunBatch& run) {
    TellPrediction(run.batch);
    stages_.Enter("change of workers");
    if (auto ending = workers_.TakeTurns(run.batch)) return ending;
    if (auto ending = Try(run)) return ending;
    if (HasBegunAnew()) return BeginAnew();
    AddVerification();
    return std::nullopt;
  }

  void AddVerification() {
    search_->AddVerification(trials_.trials().back(), LastTrace());
    search_->SetCap(Cap());
  }

  std::optional<ProbeEnding> RunCalls(const RunCallsAt& order) {
    stages_.Enter(absl::StrCat("operators of batch ", order.batch));
    tools_.on_progress(CallsProgress(order));
    workers_.HaveVerifier();
    CallRuns runs(tools_.call_results, trials_.Cap(),
                  gpu::CudnnSwitches(spec_.step));
    if (const auto run = VerificationAhead(order)) {
      return VerifyBesideCalls(*run, order, runs);
    }
    if (auto ending = RunCallsNow(order, runs)) return ending;
    return AddCalls(order, runs);
  }

  std::optional<ProbeEnding> RunCallsNow(const RunCallsAt& order,
                                         CallRuns& runs) {
    const Clock::time_point begun = Clock::now();
    for (int attempt = 0; attempt < kCallAttempts; ++attempt) {
      if (auto ending = workers_.HaveRecorder()) return ending;
      const absl::Status status =
          runs.Run(order.calls, workers_.CallWorkers(), trials_.Timeout());
      if (absl::IsCancelled(status)) return CancelledEnding();
      if (status.ok()) break;
      TellOfCallsNotRun(order, status);
      workers_.DropRecorder();
    }
    TellOfCalls(order,
                std::chrono::duration<double>(Clock::now() - begun).count());
    return std::nullopt;
  }

  static void TellOfCalls(const RunCallsAt& order, double seconds) {
    spdlog::info("{} operators of batch {} were run alone in {:.3f} s",
                 order.calls.size(), order.batch, seconds);
  }

  static void TellOfCallsNotRun(const RunCallsAt& order,
                                const absl::Status& status) {
    spdlog::warn("{} operators of batch {} could not be run alone: {}",
                 order.calls.size(), order.batch,
                 std::string(status.message()));
  }

  std::optional<ProbeEnding> AddCalls(const RunCallsAt& order, CallRuns& runs) {
    batches_with_calls_.insert(order.batch);
    const absl::Status added = search_->AddCalls(order, runs.Take());
    if (!added.ok()) return FailedEnding(ToProbeError(added));
    return std::nullopt;
  }

  // The run that will follow, most likely, whatever `order` shows: its operators
  // are of the answer or of the batch above, and those of the other one are known
  // already. Nothing if it cannot be run at the same time.
  std::optional<RunBatch> VerificationAhead(const RunCallsAt& order) {
    const auto& predicted = search_->predicted();
    if (!workers_.MayWorkBeside() || !predicted) return std::nullopt;
    const int64_t batch = predicted->safe.batch;
    const int64_t other = order.batch == batch ? batch + 1 : batch;
    const bool is_near = order.batch == batch || order.batch == batch + 1;
    const bool has_run = std::any_of(
        trials_.trials().begin(), trials_.trials().end(),
        [batch](const Trial& trial) { return trial.batch == batch; });
    if (batch <= 0 || !is_near || has_run ||
        !batches_with_calls_.contains(other) || !workers_.VerifierIsReady()) {
      return std::nullopt;
    }
    return RunBatch{batch, TrialPurpose::kVerify};
  }

  // The last order of the recorder and its helpers. Should it not end well, the
  // verifying worker runs the operators once it has verified.
  std::optional<ProbeEnding> VerifyBesideCalls(const RunBatch& run,
                                               const RunCallsAt& order,
                                               CallRuns& runs) {
    if (auto ending = workers_.HaveRecorder()) return ending;
    TellPrediction(run.batch);
    CallsBeside beside(runs, order.calls, workers_.TakeCallWorkers(),
                       trials_.Timeout());
    if (auto ending = workers_.TakeTurns(run.batch)) return ending;
    if (auto ending = Try(run, &beside)) return ending;
    const absl::Status& status = beside.Wait();
    if (absl::IsCancelled(status)) return CancelledEnding();
    if (HasBegunAnew()) return BeginAnew();
    if (status.ok()) {
      TellOfCalls(order, beside.seconds());
    } else {
      TellOfCallsNotRun(order, status);
      if (auto ending = RunCallsNow(order, runs)) return ending;
    }
    if (auto ending = AddCalls(order, runs)) return ending;
    AddVerification();
    return std::nullopt;
  }

  ProbeProgress CallsProgress(const RunCallsAt& order) const {
    ProbeProgress progress =
        trials_.FirstProgress({order.batch, TrialPurpose::kRecord});
    progress.phase = "calls";
    return progress;
  }

  // Has the recorder run it, unless `recorded` is what another worker showed of
  // it; asked again a fresh process in the recorder's place. Both may be null.
  std::optional<ProbeEnding> Try(const RunBatch& run,
                                 CallsBeside* beside = nullptr,
                                 const TrialResult* recorded = nullptr) {
    bool is_again = false;
    const auto enter = [&](std::string_view stage) {
      stages_.Enter(
          absl::StrCat("batch ", run.batch, ": ", std::string(stage)));
    };
    enter("start");
    return trials_.Try(
        run,
        [&](TrialOrder order, const OnWorkerProgress& on_progress)
            -> absl::StatusOr<TrialResult> {
          if (std::exchange(is_again, true)) {
            MEMPLAN_RETURN_IF_ERROR(workers_.RenewRecorder());
          } else if (recorded != nullptr) {
            return WithoutOthers(*recorded);
          }
          order.request.stay = true;
          absl::StatusOr<TrialResult> result = workers_.recorder().Run(
              order, [&](const gpu::Progress& progress) {
                on_progress(progress);
                if (IsStage(progress.phase)) enter(progress.phase);
                // Its first steps take as long as helpers take to start.
                if (run.purpose == TrialPurpose::kRecord &&
                    progress.phase == kStepPhase) {
                  workers_.HaveHelpers();
                }
                if (progress.phase != kReportPhase) return;
                // What the worker holds is about to be read: it is to be alone.
                enter("wait for the other worker's end");
                if (beside != nullptr) (void)beside->Wait();
                workers_.WaitForThoseLetGo();
                enter(kReportPhase);
              });
          enter("keep");
          if (!result.ok()) return result;
          return WithoutOthers(*std::move(result));
        },
        OwnWorkers::kSome);
  }

  // With several workers on it, the device's growth is not one's own.
  TrialResult WithoutOthers(TrialResult result) const {
    if (workers_.AreSeveral() &&
        result.trial.context_source == kContextFromDevice) {
      result.trial.context.reset();
      result.trial.context_source.clear();
    }
    return result;
  }

  std::optional<Trace> LastTrace() {
    const Trial& trial = trials_.trials().back();
    stages_.Enter(absl::StrCat("batch ", trial.batch, ": read trace"));
    return traces_.Of(trial, static_cast<int>(trials_.trials().size()));
  }

  // Whether the trials were dropped: their workers were of another version.
  bool HasBegunAnew() const { return begun_anew_ != trials_.begun_anew(); }

  std::optional<ProbeEnding> BeginAnew() {
    workers_.LetGo();
    workers_.WaitForThoseLetGo();
    return Begin();
  }

  static constexpr int kCallAttempts = 2;
  // In a run, when all its steps are done.
  static constexpr std::string_view kReportPhase = "report";

  const ProbeSpec& spec_;
  const ExecutionTools& tools_;
  ProbeTrials& trials_;
  const TrialTraces traces_;
  const ThreadSharer sharer_;
  StageClock stages_;
  std::unique_ptr<FastSearch> search_;    // by Begin
  std::set<int64_t> batches_with_calls_;  // the search was told of them
  int begun_anew_ = 0;
  FastWorkers workers_;
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
