#include "planner/plan/fast_search.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/batch_table.h"
#include "planner/plan/fast_prediction.h"
#include "planner/plan/known_calls.h"
#include "planner/plan/predicted_answer.h"
#include "planner/plan/recording_choice.h"
#include "planner/plan/scaled_recording.h"
#include "planner/plan/trial.h"
#include "planner/plan/verification.h"

namespace memplan {
namespace {

// It fails for scratch of a call that was seen to do with less when refused, but
// with none of the plans known: its library may have more.
bool MayRunWithAnotherPlan(const PredictedBatch& failing) {
  return failing.outcome.ended_in_scratch && failing.outcome.refused_plans > 1;
}

}  // namespace

void FastSearch::SetCap(std::optional<Bytes> cap) {
  if (cap == options_.conditions.cap) return;
  options_.conditions.cap = cap;
  is_predicted_ = false;
  decision_.reset();
}

void FastSearch::AddRecording(Trial trial, std::optional<Trace> trace) {
  trial.purpose = TrialPurpose::kRecord;
  AddTrial(std::move(trial), std::move(trace));
}

void FastSearch::AddVerification(Trial trial, std::optional<Trace> trace) {
  trial.purpose = TrialPurpose::kVerify;
  call_rounds_.clear();
  AddTrial(std::move(trial), std::move(trace));
}

void FastSearch::AddKnownTrace(int64_t batch, Trace trace) {
  traces_[batch] = std::move(trace);
  prediction_.reset();
  is_predicted_ = false;
  decision_.reset();
}

void FastSearch::AddTrial(Trial trial, std::optional<Trace> trace) {
  if (trace.has_value()) AddKnownTrace(trial.batch, *std::move(trace));
  trials_.push_back(std::move(trial));
  decision_.reset();
}

absl::Status FastSearch::AddCalls(const RunCallsAt& order,
                                  std::vector<CallPlansOrNone> results) {
  MEMPLAN_RETURN_IF_ERROR(
      known_.Add(order.batch, order.calls, std::move(results)));
  is_predicted_ = false;
  decision_.reset();
  return absl::OkStatus();
}

FastDecision FastSearch::Next() {
  if (decision_.has_value()) return *decision_;
  FastDecision decided = Decide();
  if (const auto* answer = std::get_if<SearchAnswer>(&decided)) {
    CompletePrediction(answer->safe_batch);
  } else if (std::holds_alternative<FallBack>(decided)) {
    CompletePrediction(0);
  }
  decision_ = decided;
  return decided;
}

FastDecision FastSearch::Decide() {
  if (auto end = EndByTrials()) return *std::move(end);
  if (traces_.size() < 2) return DecideRecording();
  if (absl::Status status = Predict(); !status.ok()) {
    return Finish(std::string(status.message()));
  }
  absl::StatusOr<std::optional<RunCallsAt>> calls = DecideCalls();
  if (!calls.ok()) return Finish(std::string(calls.status().message()));
  if (calls->has_value()) return **std::move(calls);
  return DecideVerifying();
}

FastDecision FastSearch::Finish(std::string reason) const {
  SearchDecision decision = DecideNext(options_.search, trials_);
  if (auto* answer = std::get_if<SearchAnswer>(&decision)) {
    return std::move(*answer);
  }
  return FallBack{std::move(reason)};
}

std::optional<FastDecision> FastSearch::EndByTrials() const {
  const BatchTable table(trials_);
  for (const Trial& trial : trials_) {
    const bool has_trace = traces_.contains(trial.batch);
    if (trial.outcome == TrialOutcome::kFits) {
      if (has_trace || trial.purpose != TrialPurpose::kRecord) continue;
      return Finish(
          absl::StrCat("the run of batch ", trial.batch, " left no trace"));
    }
    if (trial.failed_while_loading) {
      return Finish("the model did not load");
    }
    const bool has_another_try =
        trial.outcome == TrialOutcome::kWorkerDied &&
        table.StateOf(trial.batch) != BatchState::kFailed;
    if (trial.outcome == TrialOutcome::kOutOfMemory || has_another_try) {
      continue;
    }
    return Finish(absl::StrCat("batch ", trial.batch,
                               " failed for another reason than memory"));
  }
  return std::nullopt;
}

std::optional<int64_t> FastSearch::SecondRecording() const {
  if (!traces_.empty() || !trials_.empty()) return std::nullopt;
  RecordingState state;
  state.first_batch = options_.search.first_batch;
  state.max_batch = options_.search.max_batch;
  const std::optional<int64_t> first = NextToRecord(state);
  if (!first) return std::nullopt;
  state.recorded = {*first};
  return NextToRecord(state);
}

FastDecision FastSearch::DecideRecording() const {
  if (CountRecordings() + 1 >= options_.max_trials) {
    return Finish(absl::StrCat("no two batches could be recorded in ",
                               CountRecordings(), " trials"));
  }
  RecordingState state;
  state.first_batch = options_.search.first_batch;
  state.max_batch = options_.search.max_batch;
  for (const auto& [batch, trace] : traces_) state.recorded.push_back(batch);
  for (const Trial& trial : trials_) {
    if (trial.outcome == TrialOutcome::kOutOfMemory &&
        !traces_.contains(trial.batch)) {
      state.failed.push_back(trial.batch);
    }
  }
  std::sort(state.failed.begin(), state.failed.end());
  if (!traces_.empty()) {
    const auto& [batch, trace] = *traces_.rbegin();
    ScaledRecording scaled(trace, batch, options_.conditions,
                           options_.has_segments);
    state.likely_to_fit = scaled.LargestLikelyToFit(
        LargestToRecord(batch, options_.search.max_batch));
  }
  const std::optional<int64_t> next = NextToRecord(state);
  if (!next.has_value()) return Finish("fewer than two batches run");
  return RecordBatch{*next};
}

absl::Status FastSearch::Predict() {
  if (is_predicted_) return absl::OkStatus();
  if (prediction_ == nullptr) {
    MEMPLAN_ASSIGN_OR_RETURN(prediction_, FastPrediction::Create(traces_));
  }
  MEMPLAN_ASSIGN_OR_RETURN(
      predicted_,
      prediction_->Answer(PredictionOptionsFor(/*only_safe=*/true), known_));
  is_predicted_ = true;
  return absl::OkStatus();
}

const PredictedAnswer& FastSearch::Standing() const {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): Predict came before
  return *predicted_;
}

FastPredictionOptions FastSearch::PredictionOptionsFor(bool only_safe) const {
  FastPredictionOptions options{.conditions = options_.conditions,
                                .has_segments = options_.has_segments,
                                .max_batch = options_.search.max_batch};
  options.only_safe = only_safe;
  options.sharer = options_.sharer;
  options.names_interval = options_.traces_are_as_run;
  for (const Trial& trial : trials_) {
    if (trial.purpose == TrialPurpose::kVerify &&
        trial.outcome == TrialOutcome::kFits) {
      options.verified_batches.push_back(trial.batch);
    }
  }
  if (predicted_.has_value()) options.start = predicted_->safe.batch;
  return options;
}

void FastSearch::CompletePrediction(int64_t answer) {
  if (!is_predicted_) return;
  FastPredictionOptions options = PredictionOptionsFor(/*only_safe=*/false);
  if (answer > 0 && answer < Standing().safe.batch) {
    options.max_batch = options.start = answer;
  }
  absl::StatusOr<PredictedAnswer> complete =
      prediction_->Answer(options, known_);
  if (complete.ok()) predicted_ = *std::move(complete);
}

// Those of the answer, then those of the batch above it, so that one that fits
// and one that does not rest on the same knowledge. Where all are known from
// other batches, the answer is named again with them.
absl::StatusOr<std::optional<RunCallsAt>> FastSearch::DecideCalls() {
  while (Standing().safe.batch > 0) {
    const int64_t answer = Standing().safe.batch;
    if (!call_rounds_.contains(answer) &&
        std::ssize(call_rounds_) >= options_.max_call_rounds) {
      break;
    }
    call_rounds_.insert(answer);
    bool is_more_known = false;
    for (const int64_t batch : {answer, answer + 1}) {
      if (batch > options_.search.max_batch) break;
      MEMPLAN_ASSIGN_OR_RETURN(std::vector<DistinctCall> calls,
                               prediction_->CallsAt(batch));
      if (calls.empty()) continue;
      std::vector<DistinctCall> unknown = known_.Unknown(std::move(calls));
      if (unknown.size() > kMaxCallsAtOnce) unknown.resize(kMaxCallsAtOnce);
      if (!unknown.empty()) return RunCallsAt{batch, std::move(unknown)};
      is_more_known |= known_.AddBatch(batch);
    }
    if (!is_more_known) break;
    is_predicted_ = false;
    MEMPLAN_RETURN_IF_ERROR(Predict());
  }
  return std::nullopt;
}

FastDecision FastSearch::DecideVerifying() const {
  VerificationOptions options;
  options.max_batch = options_.search.max_batch;
  options.repeat = std::max(options_.search.repeat, 1);
  options.max_trials =
      std::max(options_.max_trials - CountRecordings(), 1) + options.repeat - 1;
  const ExpectedBatch expected{
      .safe = Standing().safe.batch,
      .is_next_open = MayRunWithAnotherPlan(Standing().failing)};
  VerificationDecision decision =
      DecideVerification(options, expected, trials_);
  if (const auto* run = std::get_if<RunBatch>(&decision)) return *run;
  if (auto* answer = std::get_if<SearchAnswer>(&decision)) return *answer;
  return Finish(std::get<FallBack>(decision).reason);
}

int FastSearch::CountRecordings() const {
  return static_cast<int>(
      std::count_if(trials_.begin(), trials_.end(), [](const Trial& trial) {
        return trial.purpose == TrialPurpose::kRecord;
      }));
}

}  // namespace memplan
