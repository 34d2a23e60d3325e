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

#include "planner/base/bytes.h"
#include "planner/trace/trace.h"

namespace memplan {

// What one recorded run says of other batches, before a second tells what is
// constant and what grows: a guess on the safe side.
struct MemoryNeed {
  Bytes resident;  // live at the least in the last step: weights and states
  Bytes growing;   // what its peak takes on top of that

  friend bool operator==(const MemoryNeed&, const MemoryNeed&) = default;
};

MemoryNeed NeedOf(const Trace& trace);

// The largest batch that is likely to fit under `cap` after `recorded` took
// `need`: all that is not resident grows with the batch. INT64_MAX without a cap.
int64_t LikelyToFit(const MemoryNeed& need, int64_t recorded,
                    std::optional<Bytes> cap);

struct RecordingState {
  int64_t first_batch = 8;
  int64_t max_batch = 65536;
  std::vector<int64_t> recorded;      // rising
  std::vector<int64_t> failed;        // rising: ran out of memory
  int64_t likely_to_fit = INT64_MAX;  // by the largest recorded
};

// The next to record; none if two are, or nothing is left to try.
std::optional<int64_t> NextToRecord(const RecordingState& state);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_RECORDING_CHOICE_H_
