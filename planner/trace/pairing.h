// Which block of one trace is which of another of the same model.
//
// Matched marks cut both traces into the same stretches. Within a stretch blocks
// are paired in order: by the operator that asked and by the stretch in which
// they are freed; among equals by the ratio of sizes. What has no partner is
// left alone: scratch that one of the two runs did without.
//
//   left    ├ conv  A₀ A₁ D₁ ┤ relu  A₂ …      pairs: A₀ ~ B₀, A₂ ~ B₁
//   right   ├ conv  B₀       ┤ relu  B₁ …      A₁ has none
#ifndef MEMPLAN_PLANNER_TRACE_PAIRING_H_
#define MEMPLAN_PLANNER_TRACE_PAIRING_H_

#include <cstdint>
#include <vector>

#include "planner/trace/alignment.h"
#include "planner/trace/outline.h"

namespace memplan {

// By block of `left`: its partner in `right`, or kNoId. Partners rise with the
// blocks. `alignment` is of the paths of both outlines, which were made with one
// PathTable.
std::vector<uint32_t> PairBlocks(const OutlinedTrace& left,
                                 const OutlinedTrace& right,
                                 const Alignment& alignment);

// By mark of the left outline: its partner, or kNoId.
std::vector<uint32_t> PairMarks(const Outline& left,
                                const Alignment& alignment);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_PAIRING_H_
