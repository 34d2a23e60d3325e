// Which device a job gets that leaves the choice open. Pure.
#ifndef MEMPLAN_PLANNER_ADMISSION_PLACEMENT_H_
#define MEMPLAN_PLANNER_ADMISSION_PLACEMENT_H_

#include <cstddef>
#include <optional>
#include <span>

#include "planner/admission/verdict.h"

namespace memplan {

enum class Placement {
  kBestFit,  // where least is left afterwards: large jobs keep their room
  kSpread,   // where most is left afterwards: neighbours keep their distance
};

// The place in `judgements`, one a device, of the device to take: of those where
// the job fits, as `placement` says, the first of equals. If it fits nowhere, the
// one whose answer says most: not now (where most is available), then unknown,
// then never. Unset if there is none.
std::optional<size_t> Choose(std::span<const Judgement> judgements,
                             Placement placement);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_PLACEMENT_H_
