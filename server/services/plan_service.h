// PlanService: what recorded traces take under other conditions and at other
// batches. Keeps nothing between calls.
#ifndef MEMPLAN_SERVER_SERVICES_PLAN_SERVICE_H_
#define MEMPLAN_SERVER_SERVICES_PLAN_SERVICE_H_

#include "memplan/v1/plan_service.grpc.pb.h"
#include "server/base/work_queue.h"
#include "server/services/collecting_reactor.h"

namespace memplan {

// Thread-safe. `queue`, on which replays run, and `places` must outlive it and
// its calls.
class PlanService final : public v1::PlanService::CallbackService {
 public:
  PlanService(WorkQueue& queue, Places& places) : support_{queue, places} {}

  grpc::ServerReadReactor<v1::ReplayRequest>* Replay(
      grpc::CallbackServerContext* context,
      v1::ReplayResponse* response) override;
  grpc::ServerReadReactor<v1::EstimateRequest>* Estimate(
      grpc::CallbackServerContext* context,
      v1::EstimateResponse* response) override;

 private:
  CollectingSupport support_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_PLAN_SERVICE_H_
