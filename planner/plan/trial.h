// A trial: one real run of one batch in a fresh worker process, and what it
// showed. Plain values, filled from a worker's report and never changed after.
#ifndef MEMPLAN_PLANNER_PLAN_TRIAL_H_
#define MEMPLAN_PLANNER_PLAN_TRIAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/bytes.h"
#include "planner/plan/attribution.h"

namespace memplan {

// Why a trial is run. The same words as proto TrialPurpose.
enum class TrialPurpose {
  kProfile,
  kSearch,
  kNeighbour,
  kVerify,
  kCalibrate,
  kRecord,
};

// How a trial ended. The same words as proto TrialOutcome.
enum class TrialOutcome {
  kFits,
  kOutOfMemory,
  kShapeRefused,
  kModelFailed,
  kTimedOut,
  kWorkerDied,
  kSandboxRefused,  // it reached for what a worker's sandbox keeps from it
};

// The peaks of one span: requested ≤ active, allocated ≤ active ≤ reserved.
struct Peaks {
  Bytes requested;
  Bytes allocated;
  Bytes active;
  std::optional<Bytes> reserved;  // unset on the CPU device: no segments
  friend bool operator==(const Peaks&, const Peaks&) = default;
};

// The larger of each pair.
Peaks MaxPeaks(const Peaks& a, const Peaks& b);

// Which step of a trial. Those that were asked for come first; the others are
// what a program does between two of them.
enum class StepKind {
  kStep,
  kOtherBatch,  // a step of another batch, such as an epoch's last
  kEvaluation,  // a forward in eval mode, without gradients
  kAgain,       // a step as at first, after the others
};

struct StepResult {
  Peaks peaks;
  double seconds = 0;
  int64_t allocation_retries = 0;
  int64_t failed_requests = 0;
  StepKind kind = StepKind::kStep;
  int64_t batch = 0;  // of kOtherBatch and kEvaluation; else 0: the trial's
  friend bool operator==(const StepResult&, const StepResult&) = default;
};

struct Trial {
  int64_t batch = 0;
  TrialPurpose purpose = TrialPurpose::kSearch;
  TrialOutcome outcome = TrialOutcome::kFits;
  std::string message;  // why it did not fit; at most 1 kB
  // What stands behind that by the evidence, in one of the words of proto
  // Trial.end_class; empty if it fits or nobody could tell.
  std::string end_class;
  Peaks load_peaks;  // while the model was loaded
  std::vector<StepResult> steps;
  int64_t load_allocation_retries = 0;
  int64_t load_failed_requests = 0;
  // True if it failed before its first step: the model itself did not load.
  bool failed_while_loading = false;
  // The batch of the example inputs a traced archive keeps, if it has them.
  std::optional<int64_t> traced_batch;
  // Held outside the allocator at the last step's end, and who says so.
  std::optional<Bytes> context;
  std::string context_source;
  std::optional<Bytes> cap;
  double seconds = 0;  // from the worker's start to its end
  int64_t trace_events = 0;
  bool trace_overflowed = false;
  // By the trace, if it is whole: the request that made the requested peak; and
  // the refused one that ended a trial out of memory, else the largest that was
  // refused and made up for.
  std::optional<AttributedRequest> peak_request;
  std::optional<AttributedRequest> refused_request;
  std::optional<ContentsDependence> contents_dependence;  // none: it does not
  friend bool operator==(const Trial&, const Trial&) = default;
};

// Peaks of the load and all steps.
Peaks TrialPeaks(const Trial& trial);

// The step that decides what the trial needs: the one with the largest reserved
// peak (where there is none, the largest allocated), the first of equals; −1 if
// the load needed more than any step.
int PeakStep(const Trial& trial);

// The last step of kind kStep: what a step needs once caches are warm and
// executors have settled. −1 if there is none.
int SteadyStep(const Trial& trial);

// Reserved less allocated peak at PeakStep; unset without a reserved peak.
std::optional<Bytes> Fragmentation(const Trial& trial);

int64_t AllocationRetries(const Trial& trial);
int64_t FailedRequests(const Trial& trial);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_TRIAL_H_
