#include "server/services/observer_services.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/services/rich_status.h"

namespace memplan {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

// Refuses a call whose requests are a stream. Gone once gRPC is done with it.
template <typename Request>
class RefusedStream final : public grpc::ServerReadReactor<Request> {
 public:
  explicit RefusedStream(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// What all of them refuse with.
class Refusal {
 public:
  explicit Refusal(const std::string& socket)
      : status_(ToGrpcStatus(WithReason(
            absl::PermissionDeniedError(absl::StrCat(
                "observers may only read; call the daemon's own socket, ",
                socket, ", or ask its operator to let you")),
            "OBSERVER_ONLY"))) {}

  Unary* One(Context* context) const {
    Unary* reactor = context->DefaultReactor();
    reactor->Finish(status_);
    return reactor;
  }
  template <typename Request>
  grpc::ServerReadReactor<Request>* Stream() const {
    return new RefusedStream<Request>(status_);
  }

 private:
  const grpc::Status status_;
};

class ObserverAdmission final : public v1::AdmissionService::CallbackService {
 public:
  ObserverAdmission(v1::AdmissionService::CallbackService& real,
                    const std::string& socket)
      : real_(real), refusal_(socket) {}

  Unary* Check(Context* context, const v1::CheckRequest* request,
               v1::CheckResponse* response) override {
    return real_.Check(context, request, response);
  }
  Unary* BatchCheck(Context* context, const v1::BatchCheckRequest* request,
                    v1::BatchCheckResponse* response) override {
    return real_.BatchCheck(context, request, response);
  }
  Unary* GetReservation(Context* context,
                        const v1::GetReservationRequest* request,
                        v1::GetReservationResponse* response) override {
    return real_.GetReservation(context, request, response);
  }
  Unary* ListReservations(Context* context,
                          const v1::ListReservationsRequest* request,
                          v1::ListReservationsResponse* response) override {
    return real_.ListReservations(context, request, response);
  }
  Unary* Reserve(Context* context, const v1::ReserveRequest* /*request*/,
                 v1::ReserveResponse* /*response*/) override {
    return refusal_.One(context);
  }
  Unary* WaitForMemory(Context* context,
                       const v1::WaitForMemoryRequest* /*request*/,
                       v1::WaitForMemoryResponse* /*response*/) override {
    return refusal_.One(context);
  }
  Unary* Renew(Context* context, const v1::RenewRequest* /*request*/,
               v1::RenewResponse* /*response*/) override {
    return refusal_.One(context);
  }
  Unary* Adopt(Context* context, const v1::AdoptRequest* /*request*/,
               v1::AdoptResponse* /*response*/) override {
    return refusal_.One(context);
  }
  Unary* Release(Context* context, const v1::ReleaseRequest* /*request*/,
                 v1::ReleaseResponse* /*response*/) override {
    return refusal_.One(context);
  }
  Unary* ReportOutcome(Context* context,
                       const v1::ReportOutcomeRequest* /*request*/,
                       v1::ReportOutcomeResponse* /*response*/) override {
    return refusal_.One(context);
  }

 private:
  v1::AdmissionService::CallbackService& real_;
  const Refusal refusal_;
};

class ObserverDevices final : public v1::DeviceService::CallbackService {
 public:
  explicit ObserverDevices(v1::DeviceService::CallbackService& real)
      : real_(real) {}

  Unary* ListDevices(Context* context, const v1::ListDevicesRequest* request,
                     v1::ListDevicesResponse* response) override {
    return real_.ListDevices(context, request, response);
  }
  Unary* GetDevice(Context* context, const v1::GetDeviceRequest* request,
                   v1::GetDeviceResponse* response) override {
    return real_.GetDevice(context, request, response);
  }

 private:
  v1::DeviceService::CallbackService& real_;
};

class ObserverModels final : public v1::ModelService::CallbackService {
 public:
  ObserverModels(v1::ModelService::CallbackService& real,
                 const std::string& socket)
      : real_(real), refusal_(socket) {}

  Unary* GetModel(Context* context, const v1::GetModelRequest* request,
                  v1::GetModelResponse* response) override {
    return real_.GetModel(context, request, response);
  }
  Unary* ListModels(Context* context, const v1::ListModelsRequest* request,
                    v1::ListModelsResponse* response) override {
    return real_.ListModels(context, request, response);
  }
  grpc::ServerReadReactor<v1::UploadModelRequest>* UploadModel(
      Context* /*context*/, v1::UploadModelResponse* /*response*/) override {
    return refusal_.Stream<v1::UploadModelRequest>();
  }
  Unary* DeleteModel(Context* context,
                     const v1::DeleteModelRequest* /*request*/,
                     v1::DeleteModelResponse* /*response*/) override {
    return refusal_.One(context);
  }

 private:
  v1::ModelService::CallbackService& real_;
  const Refusal refusal_;
};

// Replays and estimates change nothing, but compute.
class ObserverPlans final : public v1::PlanService::CallbackService {
 public:
  explicit ObserverPlans(const std::string& socket) : refusal_(socket) {}

  grpc::ServerReadReactor<v1::ReplayRequest>* Replay(
      Context* /*context*/, v1::ReplayResponse* /*response*/) override {
    return refusal_.Stream<v1::ReplayRequest>();
  }
  grpc::ServerReadReactor<v1::EstimateRequest>* Estimate(
      Context* /*context*/, v1::EstimateResponse* /*response*/) override {
    return refusal_.Stream<v1::EstimateRequest>();
  }

 private:
  const Refusal refusal_;
};

class ObserverProbes final : public v1::ProbeService::CallbackService {
 public:
  ObserverProbes(v1::ProbeService::CallbackService& real,
                 const std::string& socket)
      : real_(real), refusal_(socket) {}

  Unary* GetProbe(Context* context, const v1::GetProbeRequest* request,
                  v1::GetProbeResponse* response) override {
    return real_.GetProbe(context, request, response);
  }
  Unary* ListProbes(Context* context, const v1::ListProbesRequest* request,
                    v1::ListProbesResponse* response) override {
    return real_.ListProbes(context, request, response);
  }
  grpc::ServerWriteReactor<v1::WatchProbeResponse>* WatchProbe(
      Context* context, const v1::WatchProbeRequest* request) override {
    return real_.WatchProbe(context, request);
  }
  Unary* WaitProbe(Context* context, const v1::WaitProbeRequest* request,
                   v1::WaitProbeResponse* response) override {
    return real_.WaitProbe(context, request, response);
  }
  Unary* CreateProbe(Context* context,
                     const v1::CreateProbeRequest* /*request*/,
                     v1::CreateProbeResponse* /*response*/) override {
    return refusal_.One(context);
  }
  Unary* CancelProbe(Context* context,
                     const v1::CancelProbeRequest* /*request*/,
                     v1::CancelProbeResponse* /*response*/) override {
    return refusal_.One(context);
  }
  Unary* DeleteProbe(Context* context,
                     const v1::DeleteProbeRequest* /*request*/,
                     v1::DeleteProbeResponse* /*response*/) override {
    return refusal_.One(context);
  }

 private:
  v1::ProbeService::CallbackService& real_;
  const Refusal refusal_;
};

class ObserverStatus final : public v1::ServerService::CallbackService {
 public:
  ObserverStatus(v1::ServerService::CallbackService& real,
                 const std::string& socket)
      : real_(real), refusal_(socket) {}

  Unary* GetServerStatus(Context* context,
                         const v1::GetServerStatusRequest* request,
                         v1::GetServerStatusResponse* response) override {
    return real_.GetServerStatus(context, request, response);
  }
  Unary* SetLogLevel(Context* context,
                     const v1::SetLogLevelRequest* /*request*/,
                     v1::SetLogLevelResponse* /*response*/) override {
    return refusal_.One(context);
  }

 private:
  v1::ServerService::CallbackService& real_;
  const Refusal refusal_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeObserverServices(
    const ObservedServices& observed, const std::string& socket) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(
      std::make_unique<ObserverAdmission>(observed.admission, socket));
  services.push_back(std::make_unique<ObserverDevices>(observed.devices));
  services.push_back(std::make_unique<ObserverModels>(observed.models, socket));
  services.push_back(std::make_unique<ObserverPlans>(socket));
  services.push_back(std::make_unique<ObserverProbes>(observed.probes, socket));
  services.push_back(std::make_unique<ObserverStatus>(observed.server, socket));
  return services;
}

}  // namespace memplan
