// Trials and plans as protos. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_PLAN_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_PLAN_TO_PROTO_H_

#include "memplan/v1/plan.pb.h"
#include "planner/plan/plan.h"
#include "planner/plan/trial.h"

namespace memplan {

// `number` is the trial's place in its probe, from 1.
v1::Trial ToProto(const Trial& trial, int number);

v1::Plan ToProto(const Plan& plan);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_PLAN_TO_PROTO_H_
