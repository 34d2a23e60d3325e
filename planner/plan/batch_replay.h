// One batch of a symbolic trace instantiated and replayed. Several may work side
// by side on one symbolic trace, each on a thread of its own.
#ifndef MEMPLAN_PLANNER_PLAN_BATCH_REPLAY_H_
#define MEMPLAN_PLANNER_PLAN_BATCH_REPLAY_H_

#include <optional>

#include "absl/status/statusor.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/conditions.h"
#include "planner/base/bytes.h"
#include "planner/plan/stream_replay.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/shape.h"
#include "planner/trace/symbolic_trace.h"

namespace memplan {

// Keeps its memory from one run to the next. Not thread-safe; neither copied nor
// moved. The symbolic trace outlives it.
class BatchReplay {
 public:
  BatchReplay(const SymbolicTrace& symbolic,
              const AllocatorConditions& conditions)
      : cap_(conditions.EffectiveCap()),
        instantiator_(symbolic),
        allocator_(conditions, addresses_),
        replay_(allocator_) {}
  BatchReplay(const BatchReplay&) = delete;
  BatchReplay& operator=(const BatchReplay&) = delete;

  // kInvalidArgument as of Instantiator::Run. Without segments the cap holds for
  // what is live, each block rounded up.
  absl::StatusOr<StreamOutcome> Run(const Shape& shape,
                                    const InstantiateOptions& options,
                                    bool has_segments);

 private:
  const std::optional<Bytes> cap_;
  Instantiator instantiator_;
  RequestStream stream_;
  ChunkAddresses addresses_;
  CachingAllocator allocator_;
  StreamReplay replay_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_BATCH_REPLAY_H_
