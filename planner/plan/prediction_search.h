// The largest safe batch under a cap, found on the symbolic trace without a run:
// each batch is instantiated and replayed under the exact cap.
//
// Safe: it and every smaller one get through. Comfortable: besides, none of them
// has to give cached memory back in a settled step. One symbolic trace answers
// for every cap and every setting.
#ifndef MEMPLAN_PLANNER_PLAN_PREDICTION_SEARCH_H_
#define MEMPLAN_PLANNER_PLAN_PREDICTION_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "planner/allocator/conditions.h"
#include "planner/base/shared_work.h"
#include "planner/plan/batch_replay.h"
#include "planner/plan/safe_search.h"
#include "planner/plan/stream_replay.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/shape.h"
#include "planner/trace/symbolic_trace.h"

namespace memplan {

// Knows what irregular calls do at some batches.
class CallPlanSource {
 public:
  virtual ~CallPlanSource() = default;
  // Null: nothing is known at this shape. Valid until the next call.
  virtual const CallPlans* At(const Shape& shape) = 0;
  // One that answers the same, for another thread, and is gone before this one.
  // Null: there is none, and one thread asks for all.
  virtual std::unique_ptr<CallPlanSource> Copy() const { return nullptr; }
};

struct PredictionOptions {
  // The dimension that is searched; all others keep their value here.
  Shape shape = {{"batch", 1}};
  size_t dimension = 0;
  // Asked for alone, in rising order; empty: every batch from 1 to max_batch.
  std::vector<int64_t> candidates;
  int64_t max_batch = 65536;
  // Batches near the answer that are all replayed.
  int64_t reach = 64;
  // A batch that the answer is near to, replayed first; 0: none is known.
  int64_t start = 0;
  // The safe batch and the one above it, without what is told beside them: a
  // third of the work.
  bool only_safe = false;
  ScratchScenario scenario = ScratchScenario::kBestGuess;
  CallPlanSource* plans = nullptr;  // not owned
  // Shares replays that do not wait for one another; null: nobody. Not owned.
  const WorkSharer* sharer = nullptr;
  // False on `cpu`: the cap holds for what is live, each block rounded up.
  bool has_segments = true;
};

struct PredictedBatches {
  int64_t safe_batch = 0;         // 0: not even the smallest runs
  int64_t comfortable_batch = 0;  // at most safe_batch; 0: none
  // Larger than the safe one: they run, but a smaller one does not.
  std::vector<int64_t> running_above;
  std::vector<int64_t> holes;  // those that do not, below the last of these
  int64_t checked_from = 0;  // every batch from here to checked_to was replayed
  int64_t checked_to = 0;
  int64_t replays = 0;    // without those known from before
  StreamOutcome at_safe;  // what the safe batch costs
};

// Keeps its memory, and how each batch went, from one search to the next: what is
// asked again with the same plans of calls is not replayed again. Not thread-safe.
// The symbolic trace outlives it.
class PredictionSearch {
 public:
  PredictionSearch(const SymbolicTrace& symbolic,
                   const AllocatorConditions& conditions)
      : symbolic_(symbolic), conditions_(conditions) {
    replays_of_threads_.push_back(MakeReplay());
  }

  // kInvalidArgument as of Instantiator::Run, and if there is no candidate;
  // kResourceExhausted if holes have no end (FindSafe).
  absl::StatusOr<PredictedBatches> Find(const PredictionOptions& options);

  // Made so far, those of Replay too.
  int64_t replays() const { return replays_; }

  // One batch replayed.
  absl::StatusOr<StreamOutcome> Replay(const PredictionOptions& options,
                                       int64_t batch);

 private:
  struct Known {
    size_t key = 0;
    StreamOutcome outcome;
    int64_t asked_in = 0;  // the last Find that knew it with its own plans
  };
  // A batch on its way through a thread.
  struct Asked {
    int64_t batch = 0;
    size_t key = 0;
    absl::StatusOr<StreamOutcome> outcome = StreamOutcome();
    bool is_new = false;
  };

  std::unique_ptr<BatchReplay> MakeReplay() const {
    return std::make_unique<BatchReplay>(symbolic_, conditions_);
  }
  absl::StatusOr<StreamOutcome> ReplayOnce(const PredictionOptions& options,
                                           int64_t batch);
  // Changes nothing but `plans`, `replay` and `asked`.
  void Ask(const PredictionOptions& options, CallPlanSource* plans,
           BatchReplay& replay, Asked& asked) const;
  void Learn(const Asked& asked);
  // Each of `batches`; an error is left to whoever asks for that batch.
  void ReplayAll(const PredictionOptions& options,
                 const std::vector<int64_t>& batches);

  const SymbolicTrace& symbolic_;
  const AllocatorConditions conditions_;
  // The first is of whoever calls.
  std::vector<std::unique_ptr<BatchReplay>> replays_of_threads_;
  // By batch; the key stands for all else that decides how it goes.
  absl::flat_hash_map<int64_t, Known> outcomes_;
  int64_t replays_ = 0;
  int64_t finds_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_PREDICTION_SEARCH_H_
