// The outline of a trace: its marks (phases and operators), each with its path,
// the names from the phase down to itself. What two traces of one model have in
// common when sizes and addresses are not looked at.
//
//   M step0          0  step0
//   O 1 linear       1  step0 › linear
//   O 2 addmm        2  step0 › linear › addmm     A 64 is asked for by mark 2
//   A 64 addmm       │
//   O 1 relu         3  step0 › relu               marks 1 and 2 end here
#ifndef MEMPLAN_PLANNER_TRACE_OUTLINE_H_
#define MEMPLAN_PLANNER_TRACE_OUTLINE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "planner/trace/event.h"
#include "planner/trace/name_table.h"
#include "planner/trace/trace.h"

namespace memplan {

// Gives each path a small id, the same in every trace outlined with one table.
// Not thread-safe.
class PathTable {
 public:
  // The path that adds a mark of `depth` (0: a phase) called `name` to `parent`
  // (kNoId: none).
  uint32_t Add(uint32_t parent, uint32_t depth, std::string_view name);

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // parent, depth, name

  NameTable names_;
  absl::flat_hash_map<Key, uint32_t> ids_;
};

// Arrays by mark, in the order of the trace, but for the last.
struct Outline {
  std::vector<uint32_t> paths;
  std::vector<uint32_t> events;   // the mark's own event
  std::vector<uint32_t> parents;  // the mark it is inside of; kNoId: none
  // The event before which it is seen to be over: an operator of its depth or
  // above begins, a phase begins, or an operator above it asks for memory.
  std::vector<uint32_t> ends;
  // By block: the operator that asked for it; kNoId if that is not known.
  std::vector<uint32_t> askers;
};

// A trace with its outline. Both outlive it.
struct OutlinedTrace {
  const Trace& trace;
  const Outline& outline;
};

Outline MakeOutline(const Trace& trace, PathTable& paths);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_OUTLINE_H_
