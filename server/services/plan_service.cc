#include "server/services/plan_service.h"

#include "server/services/estimate_call.h"
#include "server/services/replay_call.h"

namespace memplan {

// The calls delete themselves.
grpc::ServerReadReactor<v1::ReplayRequest>* PlanService::Replay(
    grpc::CallbackServerContext* context, v1::ReplayResponse* response) {
  auto* call = new ReplayCall(support_, context, response);
  call->Begin();
  return call;
}

grpc::ServerReadReactor<v1::EstimateRequest>* PlanService::Estimate(
    grpc::CallbackServerContext* context, v1::EstimateResponse* response) {
  auto* call = new EstimateCall(support_, context, response);
  call->Begin();
  return call;
}

}  // namespace memplan
