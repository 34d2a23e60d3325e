// Runs a search that predicts its answer: feeds planner/plan/fast_search with what
// two workers show.
//
//   worker 1   prepare ─ record 8 ─ record 32 ─ operators, each alone ─ end
//   worker 2        prepare ─ · · · waits · · · · · · · · · · · · · · · ─ verify
//
// Both are of the same program. The second is started ahead, so that neither its
// process nor its model is waited for, and has run nothing before the answer. It
// runs alone: what the first holds is given back before. Where the device has
// room for both, two things are done at a time:
//
//   worker 1   prepare ─ record 8 ─ · ─ operators of N ─ operators of N + 1 ─ end
//   worker 2   prepare ─ record 32 ─ prepare ─ · waits ─ verify N ─────────────
//
// The second then has recorded another batch than the answer.
#ifndef MEMPLAN_SERVER_JOBS_FAST_EXECUTION_H_
#define MEMPLAN_SERVER_JOBS_FAST_EXECUTION_H_

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "planner/plan/fast_search.h"
#include "server/jobs/execution_tools.h"
#include "server/jobs/probe_trials.h"

namespace memplan {

// Whether the execution of `spec` may begin by predicting: a search that is not
// to be bisected, on a device with segments, that no trial of a bisection has
// been run for.
bool IsPredicted(const ProbeSpec& spec, const ExecutionTools& tools,
                 const std::vector<Trial>& known);

// Why predictions did not hold, by the trials that were made.
FallBackKind KindOfFallBack(std::span<const Trial> trials);

// What a search that predicts ends with.
struct FastAnswer {
  SearchAnswer answer;
  std::optional<PredictedAnswer> predicted;
};

// Goes on from the trials of `trials`, whose traces are where `tools` put them.
// Gives back the ending of the probe if there is no going on at all, or that
// predictions do not hold: then bisection goes on from the trials made. Blocks
// until then; no worker is left, but with an answer those that end in
// `tools.dismissals`.
std::variant<FastAnswer, ProbeEnding, FallBack> ExecuteFastSearch(
    const ProbeSpec& spec, const ExecutionTools& tools, ProbeTrials& trials);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_FAST_EXECUTION_H_
