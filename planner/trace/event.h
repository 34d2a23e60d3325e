// One event of a trace: something the caching allocator did, or a mark that
// says what the program was doing. 32 bytes, ids instead of pointers and text,
// so that a trace is one flat array that is quick to walk and to copy.
#ifndef MEMPLAN_PLANNER_TRACE_EVENT_H_
#define MEMPLAN_PLANNER_TRACE_EVENT_H_

#include <cstdint>
#include <limits>

namespace memplan {

enum class EventKind : uint8_t {
  kPhase,          // a phase begins: load, step0, …
  kOperator,       // an operator or autograd node begins, at `depth`
  kAlloc,          // a block is handed out
  kFreeRequested,  // a free was asked for; it is complete at its kFree
  kFree,           // the free of a block is complete
  kSegmentAlloc,   // a segment comes from the driver
  kSegmentFree,    // a segment goes back to the driver
  kSegmentMap,     // a piece of an expandable segment is mapped
  kSegmentUnmap,   // … and unmapped
  kFailedRequest,  // a request could not be served
  kEmptyCache,     // the program asked to release what is cached
};

// Says that an id or an index is of nothing.
inline constexpr uint32_t kNoId = std::numeric_limits<uint32_t>::max();

// Operators nest no deeper than this.
inline constexpr int kMaxDepth = 65535;

// The largest amount in a trace: 1 EiB, above which torch refuses a request
// without looking for a block.
inline constexpr int64_t kMaxEventBytes = int64_t{1} << 60;

struct TraceEvent {
  EventKind kind = EventKind::kPhase;
  // Of kOperator: its nesting depth, 1 for the outermost. Of kAlloc and
  // kFailedRequest: the depth of the operator that asked; 0 if none is known.
  uint16_t depth = 0;
  // Of kPhase: the phase. Of kOperator: the operator. Of kAlloc and
  // kFailedRequest: the operator that asked. An id in the trace's names.
  uint32_t name = kNoId;
  // Of kAlloc, kFreeRequested and kFree: the block's id. Of kOperator: the id
  // of its signature, if recorded.
  uint32_t link = kNoId;
  // An index into the trace's stream handles.
  uint32_t stream = 0;
  // Of kAlloc and kFailedRequest: as requested, before rounding. Of segment
  // events: the segment's or piece's. Of frees: 0.
  int64_t bytes = 0;
  // Of blocks and segments; 0 if it is not known.
  uint64_t address = 0;

  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};
static_assert(sizeof(TraceEvent) == 32);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_EVENT_H_
