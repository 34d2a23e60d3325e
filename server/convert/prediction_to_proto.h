// What was predicted beside an answer, as protos. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_PREDICTION_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_PREDICTION_TO_PROTO_H_

#include "memplan/v1/plan.pb.h"
#include "planner/plan/predicted_answer.h"

namespace memplan {

v1::Prediction ToProto(const PredictedAnswer& predicted);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_PREDICTION_TO_PROTO_H_
