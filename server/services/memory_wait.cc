#include "server/services/memory_wait.h"

#include <utility>

#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/admission_from_proto.h"
#include "server/convert/admission_to_proto.h"
#include "server/services/rich_status.h"

namespace memplan {

MemoryWait::MemoryWait(Admission& admission, std::chrono::milliseconds longest,
                       absl::StatusOr<Place> place,
                       const v1::WaitForMemoryRequest& request,
                       v1::WaitForMemoryResponse& response)
    : admission_(admission),
      response_(response),
      place_(std::move(place)),
      call_(std::make_shared<Call>()) {
  call_->reactor = this;
  const std::shared_ptr<Call> call = call_;
  const absl::Status begun = Guarded([&] { return Begin(request, longest); });
  const std::lock_guard lock(call->mutex);
  if (!begun.ok() && call->reactor != nullptr) End(begun);
}

absl::Status MemoryWait::Begin(const v1::WaitForMemoryRequest& request,
                               std::chrono::milliseconds longest) {
  MEMPLAN_RETURN_IF_ERROR(place_.status());
  MEMPLAN_ASSIGN_OR_RETURN(const ReserveSpec spec,
                           ReserveFromProto(request.reserve(), "reserve."));
  MEMPLAN_ASSIGN_OR_RETURN(const std::chrono::milliseconds patience,
                           PatienceFromProto(request, longest));
  const auto answer = [call = call_](const absl::StatusOr<Admitted>& admitted) {
    const std::lock_guard lock(call->mutex);
    if (call->reactor == nullptr) return;
    MemoryWait& self = *call->reactor;
    self.End(Guarded([&] {
      if (!admitted.ok() && FieldOf(admitted.status()) == "device_id") {
        return WithReason(admitted.status(), ReasonOf(admitted.status()),
                          "reserve.job.device_id");
      }
      if (!admitted.ok()) return admitted.status();
      FillJudgement(admitted->answer, *self.response_.mutable_judgement());
      if (admitted->reservation) {
        v1::Reservation& proto = *self.response_.mutable_reservation();
        FillReservation(*admitted->reservation,
                        self.admission_.LeftOf(*admitted->reservation), proto);
        proto.set_token(admitted->reservation->token);
      }
      return absl::OkStatus();
    }));
  };
  const std::shared_ptr<Call> call = call_;
  const int64_t number = admission_.Wait(spec, patience, answer);
  const std::lock_guard lock(call->mutex);
  // Unless it was answered meanwhile, and this is gone.
  if (call->reactor != nullptr) number_ = number;
  return absl::OkStatus();
}

void MemoryWait::End(const absl::Status& status) {
  call_->reactor = nullptr;
  Finish(ToGrpcStatus(status));
}

void MemoryWait::OnCancel() {
  const std::shared_ptr<Call> call = call_;
  Admission& admission = admission_;
  int64_t number = 0;
  {
    const std::lock_guard lock(call->mutex);
    if (call->reactor == nullptr) return;
    number = number_;
    End(WithReason(absl::CancelledError("the client ended the wait"),
                   "CALL_CANCELLED"));
  }
  admission.CancelWait(number);
}

void MemoryWait::OnDone() {
  // After it, nobody looks at this any more.
  { const std::lock_guard lock(call_->mutex); }
  delete this;
}

}  // namespace memplan
