// AdmissionService over Admission: convert in, call, convert out.
#ifndef MEMPLAN_SERVER_SERVICES_ADMISSION_SERVICE_H_
#define MEMPLAN_SERVER_SERVICES_ADMISSION_SERVICE_H_

#include <chrono>

#include "memplan/v1/admission_service.grpc.pb.h"
#include "server/admission/admission.h"
#include "server/services/call_gate.h"
#include "server/services/places.h"

namespace memplan {

// What the service needs; outlives it and its calls.
struct AdmissionSupport {
  Admission& admission;
  Places& watches;  // and waits
  CallGate& gate;
  // The most that one call of WaitForMemory waits.
  std::chrono::milliseconds longest_wait = std::chrono::minutes(5);
};

// Thread-safe.
class AdmissionService final : public v1::AdmissionService::CallbackService {
 public:
  explicit AdmissionService(const AdmissionSupport& support)
      : support_(support), admission_(support.admission) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* Check(Context* context, const v1::CheckRequest* request,
               v1::CheckResponse* response) override;
  Unary* BatchCheck(Context* context, const v1::BatchCheckRequest* request,
                    v1::BatchCheckResponse* response) override;
  Unary* Reserve(Context* context, const v1::ReserveRequest* request,
                 v1::ReserveResponse* response) override;
  Unary* WaitForMemory(Context* context,
                       const v1::WaitForMemoryRequest* request,
                       v1::WaitForMemoryResponse* response) override;
  Unary* Renew(Context* context, const v1::RenewRequest* request,
               v1::RenewResponse* response) override;
  Unary* Adopt(Context* context, const v1::AdoptRequest* request,
               v1::AdoptResponse* response) override;
  Unary* Release(Context* context, const v1::ReleaseRequest* request,
                 v1::ReleaseResponse* response) override;
  Unary* GetReservation(Context* context,
                        const v1::GetReservationRequest* request,
                        v1::GetReservationResponse* response) override;
  Unary* ListReservations(Context* context,
                          const v1::ListReservationsRequest* request,
                          v1::ListReservationsResponse* response) override;
  Unary* ReportOutcome(Context* context,
                       const v1::ReportOutcomeRequest* request,
                       v1::ReportOutcomeResponse* response) override;

 private:
  const AdmissionSupport support_;
  Admission& admission_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_ADMISSION_SERVICE_H_
