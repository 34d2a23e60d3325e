// Turns a predicted safe batch into an answer with as few real runs as it takes.
//
// A pure rule like batch_search: the latest prediction and all trials so far in,
// the next batch to run or the answer out. The caller predicts anew with the
// trace of each trial that ran, so a prediction that still stands after its own
// batch ran is the answer.
//
//   predicted 119 → run 119: runs → predicted 119 again       → answer 119
//   predicted 119 → run 119: runs → predicted 121 → run 121: runs → 121
//   predicted 119 → run 119: out of memory → run 118: runs → answer 118
//   … of 118 again, and 119 lacks scratch alone → run 119: runs or not
//
// A real run outweighs a prediction. When predictions do not hold, bisection takes
// over with the trials made.
#ifndef MEMPLAN_PLANNER_PLAN_VERIFICATION_H_
#define MEMPLAN_PLANNER_PLAN_VERIFICATION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "planner/plan/batch_search.h"
#include "planner/plan/trial.h"

namespace memplan {

// What every trace at hand lets expect.
struct ExpectedBatch {
  int64_t safe = 0;  // 0: not even one sample fits
  // The batch above is refused no more than scratch of a library that may do
  // without: only a run tells.
  bool is_next_open = false;
};

struct VerificationOptions {
  int64_t max_batch = 65536;
  // Fresh runs of the answer before it is given; at least 1.
  int repeat = 1;
  // Trials made for predictions before bisection takes over. Those that close a
  // gap of at most kClosingGap come on top, kClosingTrials at most.
  int max_trials = 5;
};

// A batch that ran and one that failed no further above it leave at most so many
// batches between them that kClosingTrials settle the answer.
inline constexpr int64_t kClosingGap = 4;
inline constexpr int kClosingTrials = 2;

// Leave it to batch_search, which goes on from the trials made.
struct FallBack {
  std::string reason;
  friend bool operator==(const FallBack&, const FallBack&) = default;
};

using VerificationDecision = std::variant<RunBatch, SearchAnswer, FallBack>;

// What to do after `trials`, of which those with the purpose kVerify were made
// for predictions. `expected`: none if nothing could be predicted.
// An answer N ran `repeat` times and no batch up to N is known to fail; N + 1
// failed, is predicted to fail, or is above `max_batch`.
VerificationDecision DecideVerification(const VerificationOptions& options,
                                        std::optional<ExpectedBatch> expected,
                                        std::span<const Trial> trials);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_VERIFICATION_H_
