// Replays and estimates as protos. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_REPLAY_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_REPLAY_TO_PROTO_H_

#include <cstdint>

#include "memplan/v1/plan_service.pb.h"
#include "planner/allocator/report.h"

namespace memplan {

// `events`: those of the trace.
v1::ReplayResponse ToProto(const ReplayReport& report, int64_t events);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_REPLAY_TO_PROTO_H_
