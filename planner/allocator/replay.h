// Runs a trace's requests and frees through the allocator under any conditions:
// events in, report out. Segments' events are not looked at; the allocator
// decides anew when it needs some.
//
// A request that fails here and did not when recorded ends the replay, unless it
// is a convolution's: its caller goes on with another plan, whose requests this
// trace cannot know. One that failed when recorded is tried too; what follows it
// is what happened then, and is replayed.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_REPLAY_H_
#define MEMPLAN_PLANNER_ALLOCATOR_REPLAY_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/allocator/block.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/conditions.h"
#include "planner/allocator/report.h"
#include "planner/trace/trace.h"

namespace memplan {

// Whether a failed request of this operator is caught by its caller.
bool IsCaughtOperator(std::string_view operator_name);

struct ReplayOptions {
  // Replay only the events before this index; the allocator then shows how its
  // blocks lie (block_map.h).
  uint32_t end_event = kNoId;
};

// Keeps its memory from one run to the next. Not thread-safe.
class TraceReplay {
 public:
  // `allocator` must outlive it; each run resets it.
  explicit TraceReplay(CachingAllocator& allocator) : allocator_(allocator) {}

  // kInvalidArgument, with the event's index, for a trace that frees what is not
  // live or names blocks or streams that it does not have; kFailedPrecondition
  // if recorded addresses do not fit the conditions.
  absl::StatusOr<ReplayReport> Run(const Trace& trace,
                                   const ReplayOptions& options = {});

 private:
  absl::Status RunEvent(uint32_t index);
  absl::Status RunAlloc(const TraceEvent& event, uint32_t index);
  absl::Status RunFree(const TraceEvent& event, uint32_t index);
  void RunFailedRequest(const TraceEvent& event, uint32_t index);
  absl::Status NoteFailure(const TraceEvent& event, uint32_t index,
                           bool was_recorded);
  void NoteCompletions();
  void BeginPhase(std::string_view name, uint32_t index);
  void EndPhase(uint32_t index);

  CachingAllocator& allocator_;
  const Trace* trace_ = nullptr;
  ReplayReport report_;
  bool is_over_ = false;
  // By the trace's ids: the allocator's, or why it has none.
  std::vector<BlockId> blocks_;
  // The trace's blocks whose free was requested since the last release; some may
  // be freed by now.
  std::vector<uint32_t> awaited_;
  int64_t completions_ = 0;
};

// One replay with an allocator of its own, counters included.
absl::StatusOr<ReplayReport> ReplayTrace(const Trace& trace,
                                         const AllocatorConditions& conditions,
                                         AddressSource& addresses);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_REPLAY_H_
