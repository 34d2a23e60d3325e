// What one recording lets expect at another batch, before a second tells what is
// constant and what grows: weights, states and what is of their sizes stay, all
// else grows with the batch. Good enough to record no batch that cannot run.
#ifndef MEMPLAN_PLANNER_PLAN_SCALED_RECORDING_H_
#define MEMPLAN_PLANNER_PLAN_SCALED_RECORDING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/allocator/address_source.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/conditions.h"
#include "planner/base/bytes.h"
#include "planner/plan/stream_replay.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/trace.h"

namespace memplan {

// Not thread-safe.
class ScaledRecording {
 public:
  // `trace` was recorded at `batch`. `has_segments` as of PredictionOptions.
  ScaledRecording(const Trace& trace, int64_t batch,
                  const AllocatorConditions& conditions, bool has_segments);

  // The largest up to `at_most` that is expected to run with some room to spare;
  // 0: none.
  int64_t LargestLikelyToFit(int64_t at_most);

 private:
  void FindConstants();
  bool IsLikelyToFit(int64_t batch);

  const int64_t batch_;
  const std::optional<Bytes> cap_;  // less the room to spare
  const bool has_segments_;
  const RequestStream recorded_;
  std::vector<bool> is_constant_;  // by request
  RequestStream scaled_;
  ChunkAddresses addresses_;
  CachingAllocator allocator_;
  StreamReplay replay_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_SCALED_RECORDING_H_
