// What the trials so far say of each batch. One batch may have been run more
// than once; the table holds the verdict of all its trials together.
#ifndef MEMPLAN_PLANNER_PLAN_BATCH_TABLE_H_
#define MEMPLAN_PLANNER_PLAN_BATCH_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "planner/plan/trial.h"

namespace memplan {

enum class BatchState {
  kUnknown,  // not run, or its worker died once and it has one more try
  kRuns,
  kFailed,
};

// A batch that was run at least once.
struct BatchRecord {
  BatchState state = BatchState::kUnknown;
  int runs = 0;    // trials that fit
  int deaths = 0;  // trials whose worker died
  // Index of the trial that decided the state: the first failure, else the
  // first run, else the death.
  size_t deciding_trial = 0;
};

// A snapshot of `trials`, which it does not keep. Copyable; safe to read from
// any thread.
class BatchTable {
 public:
  // Trials of batches outside 1 … `max_batch` are left out.
  explicit BatchTable(std::span<const Trial> trials,
                      int64_t max_batch = INT64_MAX);

  // Null if `batch` was never run.
  const BatchRecord* Find(int64_t batch) const;
  BatchState StateOf(int64_t batch) const;

  // All batches run, smallest first.
  const std::map<int64_t, BatchRecord>& records() const { return records_; }

  // Each is 0 if there is none. The smallest failing is at least `from`.
  int64_t SmallestFailing(int64_t from = 1) const;
  int64_t LargestRunningBelow(int64_t batch) const;

 private:
  std::map<int64_t, BatchRecord> records_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_BATCH_TABLE_H_
