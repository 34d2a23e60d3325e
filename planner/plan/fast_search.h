// The largest safe batch from three runs: two small batches are recorded, the
// answer is predicted from them, and a run in a fresh process verifies it.
//
// A class without I/O. It is fed with what is known and says what to do next:
//
//   RecordBatch 8, 32 → RunCallsAt 119 → RunCallsAt 120 → RunBatch 119 → answer
//     AddRecording        AddCalls         AddCalls       AddVerification
//
// The number of runs does not grow with the answer. Where predictions do not
// hold, or a run fails for another reason than memory, batch_search goes on from
// the trials made.
#ifndef MEMPLAN_PLANNER_PLAN_FAST_SEARCH_H_
#define MEMPLAN_PLANNER_PLAN_FAST_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/allocator/conditions.h"
#include "planner/base/bytes.h"
#include "planner/base/shared_work.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/fast_prediction.h"
#include "planner/plan/known_calls.h"
#include "planner/plan/predicted_answer.h"
#include "planner/plan/trial.h"
#include "planner/plan/verification.h"
#include "planner/trace/irregular_calls.h"
#include "planner/trace/trace.h"

namespace memplan {

struct FastSearchOptions {
  // `first_batch` is the first to be recorded.
  SearchOptions search;
  // Under what the runs run; the cap may become known later (SetCap).
  AllocatorConditions conditions;
  // False on `cpu`: the cap holds for what is live, each block rounded up.
  bool has_segments = true;
  // False where traces are changed before they are added, by the requests of
  // another optimizer than the one that runs: no run shows their peaks, so no
  // interval of them is named.
  bool traces_are_as_run = true;
  // Runs, recordings included, before bisection takes over; each repeat of the
  // answer that is asked for comes on top, and so do runs that close a small gap
  // (kClosingGap).
  int max_trials = 5;
  // How often calls are run for an answer that then moves.
  int max_call_rounds = 3;
  const WorkSharer* sharer = nullptr;  // as of PredictionOptions
};

// Run this batch and keep its trace, with the signatures of its operators. The
// process may have run another batch before. Purpose kRecord.
struct RecordBatch {
  int64_t batch = 0;
  friend bool operator==(const RecordBatch&, const RecordBatch&) = default;
};

inline constexpr size_t kMaxCallsAtOnce = 4096;

// Run each of these calls alone, at most kMaxCallsAtOnce. All have signatures,
// and no result of them is known to the search; the caller may know some from its
// store.
struct RunCallsAt {
  int64_t batch = 0;  // whose calls they are
  std::vector<DistinctCall> calls;
  friend bool operator==(const RunCallsAt&, const RunCallsAt&) = default;
};

// RunBatch is to be run in a fresh process, with a trace if it can be had.
using FastDecision =
    std::variant<RecordBatch, RunCallsAt, RunBatch, SearchAnswer, FallBack>;

// Not thread-safe. Keeps the traces that it is given.
class FastSearch {
 public:
  explicit FastSearch(const FastSearchOptions& options) : options_(options) {}

  // The cap of all runs to come; none: memory sets no limit. With a budget it is
  // known when a run has shown the context; until then recordings run under the
  // whole budget.
  void SetCap(std::optional<Bytes> cap);

  // What came of a RecordBatch. `trace`: of a run that got through all its
  // steps, even if it proved to be above the budget then; else none. Without a
  // trace of a run that fits, the search falls back.
  void AddRecording(Trial trial, std::optional<Trace> trace);

  // A trace of an earlier probe of the same program, card and settings: it takes
  // the place of a recording and is no trial. Before the first Next.
  void AddKnownTrace(int64_t batch, Trace trace);

  // What the calls of a RunCallsAt did, in their order. Errors as of
  // KnownCalls::Add. Plans that do not go with the model's own calls are taken as
  // unknown.
  absl::Status AddCalls(const RunCallsAt& order,
                        std::vector<CallPlansOrNone> results);

  // What came of a RunBatch. `trace` as of AddRecording.
  void AddVerification(Trial trial, std::optional<Trace> trace);

  // The same until something is added. Replays some hundred batches: up to a
  // second of CPU time. SearchAnswer and FallBack are final. With kFound, the
  // answer ran `search.repeat` times in fresh processes and no run up to it failed;
  // the batch above it failed, or is predicted to from the answer's own trace.
  // Another end is that of batch_search after the same trials. After FallBack,
  // DecideNext goes on from trials().
  FastDecision Next();

  // The batch that will most likely be recorded second, before anything is known;
  // none from the first recording on.
  std::optional<int64_t> SecondRecording() const;

  // The latest prediction, for the plan; none before the second recording. What
  // is told beside the safe batch and the one above it is known at the end.
  const std::optional<PredictedAnswer>& predicted() const { return predicted_; }

  // All trials added, in order.
  std::span<const Trial> trials() const { return trials_; }

 private:
  void AddTrial(Trial trial, std::optional<Trace> trace);
  FastDecision Decide();
  // What batch_search would end with after the trials made, else `reason`.
  FastDecision Finish(std::string reason) const;
  std::optional<FastDecision> EndByTrials() const;
  FastDecision DecideRecording() const;
  FastPredictionOptions PredictionOptionsFor(bool only_safe) const;
  absl::Status Predict();
  // The latest prediction, once Predict has made one.
  const PredictedAnswer& Standing() const;
  // The rest of the prediction that stands, once there is no more to run; up to
  // `answer` where runs showed that less fits than predicted. 0: no answer.
  void CompletePrediction(int64_t answer);
  // None: those that are wanted are known.
  absl::StatusOr<std::optional<RunCallsAt>> DecideCalls();
  FastDecision DecideVerifying() const;
  int CountRecordings() const;

  FastSearchOptions options_;
  std::vector<Trial> trials_;
  std::map<int64_t, Trace> traces_;  // by batch
  KnownCalls known_;
  std::unique_ptr<FastPrediction> prediction_;  // from traces_; null: not yet
  std::optional<PredictedAnswer> predicted_;    // the latest
  bool is_predicted_ = false;                   // from all that is known
  // Answers whose calls were asked for since the last verifying run.
  std::set<int64_t> call_rounds_;
  std::optional<FastDecision> decision_;  // none: something was added
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_FAST_SEARCH_H_
