// A trace: everything the caching allocator did for one process, in order, with
// marks of what the program was doing. Flat arrays that call each other by id:
//
//   events   M load │ O 1 aten::empty │ A 512 │ S … │ A 64 │ D │ …
//                                        │              │     │
//   blocks                              0: alloc, free ─┼─────┘
//                                       1: alloc, none ─┘
//
// A trace made by TraceBuilder is consistent: every free names the block that it
// ends, live blocks do not overlap, and neither do segments.
#ifndef MEMPLAN_PLANNER_TRACE_TRACE_H_
#define MEMPLAN_PLANNER_TRACE_TRACE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/trace/event.h"
#include "planner/trace/name_table.h"
#include "planner/trace/signature.h"

namespace memplan {

// The life of one block: indices of events.
struct TraceBlock {
  uint32_t alloc = kNoId;
  uint32_t free_requested = kNoId;  // kNoId: at the same time as the free
  uint32_t free = kNoId;            // kNoId: it outlives the trace

  friend bool operator==(const TraceBlock&, const TraceBlock&) = default;
};

// A value: copy it, compare it.
struct Trace {
  std::vector<TraceEvent> events;
  std::vector<TraceBlock> blocks;  // in the order of their allocation
  NameTable names;
  // Handles of the streams; the first is the default stream's, which is 0.
  std::vector<uint64_t> streams = {0};
  SignatureTable signatures;

  std::string_view Name(const TraceEvent& event) const {
    return names.Name(event.name);
  }

  friend bool operator==(const Trace&, const Trace&) = default;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_TRACE_H_
