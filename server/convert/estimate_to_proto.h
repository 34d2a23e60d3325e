// Estimates as protos. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_ESTIMATE_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_ESTIMATE_TO_PROTO_H_

#include "memplan/v1/plan_service.pb.h"
#include "planner/plan/shape_estimate.h"
#include "planner/trace/symbolic_trace.h"

namespace memplan {

// `symbolic`: what the estimate was made from.
v1::EstimateResponse ToProto(const ShapeEstimate& estimate,
                             const SymbolicTrace& symbolic);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_ESTIMATE_TO_PROTO_H_
