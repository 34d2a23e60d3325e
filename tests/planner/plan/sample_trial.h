// Trials for tests, in few words.
#ifndef MEMPLAN_TESTS_PLANNER_PLAN_SAMPLE_TRIAL_H_
#define MEMPLAN_TESTS_PLANNER_PLAN_SAMPLE_TRIAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "planner/base/bytes.h"
#include "planner/plan/trial.h"

namespace memplan::testing {

inline Peaks PeaksOf(int64_t requested, int64_t allocated, int64_t active,
                     std::optional<int64_t> reserved = std::nullopt) {
  Peaks peaks;
  peaks.requested = Bytes(requested);
  peaks.allocated = Bytes(allocated);
  peaks.active = Bytes(active);
  if (reserved.has_value()) peaks.reserved = Bytes(*reserved);
  return peaks;
}

inline StepResult StepOf(const Peaks& peaks) {
  StepResult step;
  step.peaks = peaks;
  return step;
}

inline Trial TrialOf(int64_t batch, TrialOutcome outcome,
                     TrialPurpose purpose = TrialPurpose::kSearch) {
  Trial trial;
  trial.batch = batch;
  trial.outcome = outcome;
  trial.purpose = purpose;
  return trial;
}

// How a trial ended, before its batch and purpose are known.
inline Trial Ended(TrialOutcome outcome, std::string message = "") {
  Trial trial;
  trial.outcome = outcome;
  trial.message = std::move(message);
  return trial;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_PLAN_SAMPLE_TRIAL_H_
