// A stream of requests on a device without segments, as `cpu` is one: what is
// live, each block rounded up, stays below the cap, or the request fails.
#ifndef MEMPLAN_PLANNER_PLAN_LIVE_REPLAY_H_
#define MEMPLAN_PLANNER_PLAN_LIVE_REPLAY_H_

#include <optional>

#include "planner/base/bytes.h"
#include "planner/plan/stream_replay.h"
#include "planner/trace/request_stream.h"

namespace memplan {

// Every call keeps its first plan: there is no convolution that would catch a
// refusal. What is reserved is what is allocated.
StreamOutcome ReplayLiveBytes(const RequestStream& stream,
                              std::optional<Bytes> cap);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_LIVE_REPLAY_H_
