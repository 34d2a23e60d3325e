// ProbeService over the job queue.
#ifndef MEMPLAN_SERVER_SERVICES_PROBE_SERVICE_H_
#define MEMPLAN_SERVER_SERVICES_PROBE_SERVICE_H_

#include "memplan/v1/probe_service.grpc.pb.h"
#include "server/base/timers.h"
#include "server/services/probe_creation.h"

namespace memplan {

// Thread-safe. What `support` names must outlive it and its calls.
class ProbeService final : public v1::ProbeService::CallbackService {
 public:
  explicit ProbeService(const ProbeSupport& support)
      : support_(support), jobs_(support.jobs) {}

  grpc::ServerUnaryReactor* CreateProbe(
      grpc::CallbackServerContext* context,
      const v1::CreateProbeRequest* request,
      v1::CreateProbeResponse* response) override;
  grpc::ServerUnaryReactor* GetProbe(grpc::CallbackServerContext* context,
                                     const v1::GetProbeRequest* request,
                                     v1::GetProbeResponse* response) override;
  grpc::ServerUnaryReactor* ListProbes(
      grpc::CallbackServerContext* context,
      const v1::ListProbesRequest* request,
      v1::ListProbesResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchProbeResponse>* WatchProbe(
      grpc::CallbackServerContext* context,
      const v1::WatchProbeRequest* request) override;
  grpc::ServerUnaryReactor* WaitProbe(grpc::CallbackServerContext* context,
                                      const v1::WaitProbeRequest* request,
                                      v1::WaitProbeResponse* response) override;
  grpc::ServerUnaryReactor* CancelProbe(
      grpc::CallbackServerContext* context,
      const v1::CancelProbeRequest* request,
      v1::CancelProbeResponse* response) override;
  grpc::ServerUnaryReactor* DeleteProbe(
      grpc::CallbackServerContext* context,
      const v1::DeleteProbeRequest* request,
      v1::DeleteProbeResponse* response) override;

 private:
  const ProbeSupport support_;
  ProbeJobs& jobs_;
  Timers timers_;  // of the waits
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_PROBE_SERVICE_H_
