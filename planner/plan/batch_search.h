// Finds the largest safe batch by doubling and bisection over real trials.
//
// A pure rule: all trials so far in, the next batch to run or the end out. It
// keeps no state, so that it can be asked again after a restart, and tested
// against a table. Batches that ran out of memory steer it; a batch that failed
// for another reason is a wall: nothing at or above it is tried.
//
//   runs           runs  fails             fails
//   8 ──── 16 ──── 32 ── 64      then      33 … 63 halved until N runs, N+1 fails,
//                                          then N−2, N−1, N+2, then N again
#ifndef MEMPLAN_PLANNER_PLAN_BATCH_SEARCH_H_
#define MEMPLAN_PLANNER_PLAN_BATCH_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "planner/plan/trial.h"

namespace memplan {

struct SearchOptions {
  int64_t first_batch = 8;    // samples
  int64_t max_batch = 65536;  // samples; honoured exactly and itself run
  int repeat = 1;             // fresh runs of the answer before it is verified
  friend bool operator==(const SearchOptions&, const SearchOptions&) = default;
};

// Run this batch next.
struct RunBatch {
  int64_t batch = 0;
  TrialPurpose purpose = TrialPurpose::kSearch;
  friend bool operator==(const RunBatch&, const RunBatch&) = default;
};

// Nothing is left to run.
enum class SearchEnd {
  kFound,       // `safe_batch` is the answer
  kDoesNotFit,  // one sample does not fit, or the model does not load
  kFixedBatch,  // the model runs at `safe_batch` alone
  kFailed,      // no batch ran, for another reason than memory, or never twice
                // alike, or the sandbox refused the model something
};

// Why the search went no higher. The same words as proto SearchLimit.
enum class SearchLimit { kMemory, kMaxBatch, kOtherFailure };

struct SearchAnswer {
  SearchEnd end = SearchEnd::kFailed;
  int64_t safe_batch = 0;    // 0 unless kFound or kFixedBatch
  int verifying_trials = 0;  // fresh runs of the answer, after the first
  SearchLimit limit = SearchLimit::kMemory;
  // What failed, unless memory alone decided; of kFound with another limit, that
  // batch 1 fails in the model.
  std::string message;
  // Larger batches that ran although a smaller one failed.
  std::vector<int64_t> unsafe_running_batches;
  friend bool operator==(const SearchAnswer&, const SearchAnswer&) = default;
};

using SearchDecision = std::variant<RunBatch, SearchAnswer>;

// The most trials of one search. A device that behaves alike each time needs at
// most 32 doublings, 31 halvings, 4 neighbours and the verifying runs, each
// once more if its worker died; only holes and changing memory lead further.
inline constexpr size_t kMaxSearchTrials = 200;

// What to do after `trials` (in the order they were run; kCalibrate trials
// count like any other). A batch counts as failed once any trial of it failed;
// a worker that died is given one more try first. An answer N ran, N−1 and N−2
// ran (as far as they exist), no batch up to N is known to fail, and N+1 is
// known to fail unless it is above `max_batch`.
//
// The first batch that runs out of memory is followed by batch 1, so that
// "nothing fits" takes two trials. Batch 1 is left out of all this where it
// failed in the model though a larger batch ran or ran out of memory: some
// models refuse one sample. A model that refuses a shape after exactly
// one batch ran, or that was traced at another batch which then runs, has that
// batch baked in. Ends with kFailed after kMaxSearchTrials at the latest.
SearchDecision DecideNext(const SearchOptions& options,
                          std::span<const Trial> trials);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_BATCH_SEARCH_H_
