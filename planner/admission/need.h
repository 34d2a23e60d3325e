// What a job will take of a device, and how that is known. A verdict goes by the
// upper end of the interval; the rest is evidence.
#ifndef MEMPLAN_PLANNER_ADMISSION_NEED_H_
#define MEMPLAN_PLANNER_ADMISSION_NEED_H_

#include <cstdint>
#include <string>

#include "planner/base/bytes.h"

namespace memplan {

// How a need is known, from the job's word to a run of the same batch in a fresh
// process.
enum class NeedSource { kStated, kEstimate, kMeasured, kVerified };

// least ≤ expected ≤ most, everything counted: allocator, context, libraries.
struct Need {
  Bytes least;
  Bytes expected;
  Bytes most;
  NeedSource source = NeedSource::kStated;
  std::string plan_id;  // the probe that showed it; empty if stated
  int64_t batch = 0;    // 0 if stated
  friend bool operator==(const Need&, const Need&) = default;
};

// The largest amount that is taken from a caller: sums of as many of them as
// there are reservations stay far from the end of 64 bits.
inline constexpr Bytes kMostBytes{int64_t{1} << 50};  // 1 PiB

inline Need StatedNeed(Bytes bytes) {
  return {.least = bytes,
          .expected = bytes,
          .most = bytes,
          .source = NeedSource::kStated,
          .plan_id = {},
          .batch = 0};
}

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_NEED_H_
