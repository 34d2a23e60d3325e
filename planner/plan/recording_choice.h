// Which batches to record, so that others can be predicted from them: two that
// differ enough, the larger as large as memory, the caller and haste allow.
//
//   8 runs → 32       8 runs, 32 does not fit → 16, 12 …, or else below: 5
//   8 does not fit → 1 → as many as its memory lets expect
//
// Pure rules over what has been recorded so far.
#ifndef MEMPLAN_PLANNER_PLAN_RECORDING_CHOICE_H_
#define MEMPLAN_PLANNER_PLAN_RECORDING_CHOICE_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace memplan {

struct RecordingState {
  int64_t first_batch = 8;
  int64_t max_batch = 65536;
  std::vector<int64_t> recorded = {};  // rising
  std::vector<int64_t> failed = {};    // rising: ran out of memory
  int64_t likely_to_fit = INT64_MAX;   // by the one recorded
};

// The larger of two batches to record, memory allowing, if `recorded` is the
// other.
int64_t LargestToRecord(int64_t recorded, int64_t max_batch);

// The next to record; none if two are, or nothing is left to try.
std::optional<int64_t> NextToRecord(const RecordingState& state);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_RECORDING_CHOICE_H_
