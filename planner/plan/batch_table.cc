#include "planner/plan/batch_table.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "planner/plan/trial.h"

namespace memplan {
namespace {

// Deaths of a batch's worker before the batch counts as failed: the first may
// be another's doing (an operator's kill, the host out of memory).
constexpr int kDeathsThatCount = 2;

// Adds what trial `index` showed.
void Add(const Trial& trial, size_t index, BatchRecord& record) {
  const bool first = record.runs == 0 && record.deaths == 0;
  const bool died = trial.outcome == TrialOutcome::kWorkerDied;
  if (died) ++record.deaths;
  if (record.state == BatchState::kFailed) return;
  if (trial.outcome == TrialOutcome::kFits) {
    if (++record.runs == 1) record.deciding_trial = index;
    record.state = BatchState::kRuns;
  } else if (!died || record.deaths >= kDeathsThatCount) {
    record.state = BatchState::kFailed;
    record.deciding_trial = index;
  } else if (first) {
    record.deciding_trial = index;
  }
}

// A calibrating or recording trial may run under the whole budget, since the
// context is not yet known: one that ran and then proved to be above the budget
// may still run under the cap that it taught, and says nothing.
bool SaysNothing(const Trial& trial) {
  return (trial.purpose == TrialPurpose::kCalibrate ||
          trial.purpose == TrialPurpose::kRecord) &&
         trial.outcome == TrialOutcome::kOutOfMemory &&
         FailedRequests(trial) == 0;
}

}  // namespace

BatchTable::BatchTable(std::span<const Trial> trials, int64_t max_batch) {
  for (size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].batch < 1 || trials[i].batch > max_batch) continue;
    if (SaysNothing(trials[i])) continue;
    Add(trials[i], i, records_[trials[i].batch]);
  }
}

const BatchRecord* BatchTable::Find(int64_t batch) const {
  const auto found = records_.find(batch);
  return found == records_.end() ? nullptr : &found->second;
}

BatchState BatchTable::StateOf(int64_t batch) const {
  const BatchRecord* record = Find(batch);
  return record == nullptr ? BatchState::kUnknown : record->state;
}

int64_t BatchTable::SmallestFailing(int64_t from) const {
  for (auto it = records_.lower_bound(from); it != records_.end(); ++it) {
    if (it->second.state == BatchState::kFailed) return it->first;
  }
  return 0;
}

int64_t BatchTable::LargestRunningBelow(int64_t batch) const {
  for (auto it = std::make_reverse_iterator(records_.lower_bound(batch));
       it != records_.rend(); ++it) {
    if (it->second.state == BatchState::kRuns) return it->first;
  }
  return 0;
}

}  // namespace memplan
