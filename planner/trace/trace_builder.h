// Makes a Trace from entries that come one after the other, from a text or from
// a worker, and believes none of them: what cannot be true is refused with its
// index and the reason. Its memory is bounded by what it is given.
#ifndef MEMPLAN_PLANNER_TRACE_TRACE_BUILDER_H_
#define MEMPLAN_PLANNER_TRACE_TRACE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/trace/event.h"
#include "planner/trace/operator_stack.h"
#include "planner/trace/reserved_ranges.h"
#include "planner/trace/trace.h"

namespace memplan {

// What is said of one event; TraceEvent has the meaning of each field.
struct TraceEntry {
  EventKind kind = EventKind::kPhase;
  int64_t bytes = 0;
  uint64_t address = 0;
  uint64_t stream = 0;         // the handle; that of a free is not looked at
  std::string_view name = "";  // empty: unknown
  // Of kOperator: its depth. Of kAlloc and kFailedRequest: that of the operator
  // that asked. If none of that name is open there (0: it is not known), the
  // innermost open one of that name is meant.
  int64_t depth = 0;
};

// Not thread-safe.
class TraceBuilder {
 public:
  // kInvalidArgument, beginning with the event's index, if `entry` cannot follow
  // on those before; it is then left out, and one may go on.
  absl::Status Add(const TraceEntry& entry);

  // For the arguments of `signature`, which become those of the operator added
  // last. kInvalidArgument if the last entry is none or already has one.
  absl::Status AddSignature(const Signature& signature);
  SignatureTable& signatures() { return trace_.signatures; }
  NameTable& names() { return trace_.names; }

  size_t event_count() const { return trace_.events.size(); }

  // The trace; the builder is empty afterwards. kInvalidArgument if it has no
  // event.
  absl::StatusOr<Trace> Build();

 private:
  struct LiveBlock {
    uint64_t end;
    uint32_t block;
  };
  using LiveBlocks = absl::btree_map<uint64_t, LiveBlock>;

  absl::Status AddChecked(const TraceEntry& entry);
  absl::Status AddOperator(const TraceEntry& entry, TraceEvent event);
  absl::Status AddAlloc(const TraceEntry& entry, TraceEvent event);
  absl::Status AddFree(const TraceEntry& entry, TraceEvent event);
  absl::Status AddSegmentEvent(const TraceEntry& entry, TraceEvent event);
  absl::Status CheckNoLiveBlockIn(AddressRange range) const;
  absl::Status NotLive(uint64_t address) const;
  // The live block that holds any of `range`, or end().
  LiveBlocks::const_iterator LiveIn(AddressRange range) const;
  uint32_t StreamId(uint64_t handle);
  uint16_t DepthOfAsking(const TraceEntry& entry, uint32_t name) const;
  void Append(const TraceEvent& event) { trace_.events.push_back(event); }
  uint32_t NextEvent() const {
    return static_cast<uint32_t>(trace_.events.size());
  }

  Trace trace_;
  OperatorStack operators_;
  ReservedRanges reserved_;
  bool saw_segment_ = false;
  LiveBlocks live_;                                // by address
  absl::flat_hash_map<uint64_t, uint32_t> freed_;  // address: event of its free
  absl::flat_hash_map<uint64_t, uint32_t> streams_;  // handle: id
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_TRACE_BUILDER_H_
