// The client's calls of AdmissionService.
#include <google/protobuf/util/time_util.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include "client/client.h"
#include "client/comeback.h"
#include "client/errors.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;
using Stub = v1::AdmissionService::StubInterface;

constexpr int kReservationsPerPage = 1000;
// One call of WaitForMemory; the daemon may answer sooner.
constexpr milliseconds kLongestMemoryWait = std::chrono::minutes(2);

// Whether a further wait may turn this into a yes.
bool MayStillPass(const v1::Judgement& judgement) {
  if (judgement.verdict() == v1::VERDICT_NOT_NOW) return true;
  return judgement.verdict() == v1::VERDICT_UNKNOWN &&
         judgement.reason() != v1::VERDICT_REASON_NO_PLAN &&
         judgement.reason() != v1::VERDICT_REASON_PLAN_AMBIGUOUS &&
         judgement.reason() != v1::VERDICT_REASON_BATCH_NOT_MEASURED;
}

// The reservation of an answer.
template <typename Response>
absl::StatusOr<v1::Reservation> ReservationOf(
    absl::StatusOr<Response> response) {
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_reservation());
}

}  // namespace

absl::StatusOr<v1::CheckResponse> Client::Check(const v1::Job& job) {
  v1::CheckRequest request;
  *request.mutable_job() = job;
  return Call(*admission_, &Stub::Check, request);
}

absl::StatusOr<v1::ReserveResponse> Client::Reserve(
    const v1::ReserveRequest& request) {
  Comeback comeback(request.request_id().empty() ? milliseconds(0)
                                                 : options_.reconnect_patience,
                    {}, {});
  for (;;) {
    auto response = Call(*admission_, &Stub::Reserve, request);
    if (response.ok() || !comeback.Await(response.status())) return response;
  }
}

absl::StatusOr<v1::WaitForMemoryResponse> Client::WaitForMemoryOnce(
    const v1::ReserveRequest& request, milliseconds patience,
    const std::stop_token& stop) {
  grpc::ClientContext context;
  std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const milliseconds wait = std::min(patience, kLongestMemoryWait);
  context.set_deadline(std::chrono::system_clock::now() + wait +
                       options_.timeout);
  v1::WaitForMemoryRequest wait_request;
  *wait_request.mutable_reserve() = request;
  *wait_request.mutable_timeout() =
      google::protobuf::util::TimeUtil::MillisecondsToDuration(wait.count());
  v1::WaitForMemoryResponse response;
  MEMPLAN_RETURN_IF_ERROR(
      FromRpc(admission_->WaitForMemory(&context, wait_request, &response)));
  return response;
}

absl::StatusOr<v1::WaitForMemoryResponse> Client::WaitForMemory(
    const v1::ReserveRequest& request, milliseconds patience,
    const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + patience;
  Comeback comeback(options_.reconnect_patience, {}, stop);
  for (;;) {
    const auto left =
        std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    auto response =
        WaitForMemoryOnce(request, std::max(left, milliseconds(0)), stop);
    if (stop.stop_requested()) return StoppedByCaller();
    if (response.ok()) {
      comeback.Heard();
      if (!MayStillPass(response->judgement()) ||
          std::chrono::steady_clock::now() >= end) {
        return response;
      }
    } else if (!comeback.Await(response.status())) {
      if (stop.stop_requested()) return StoppedByCaller();
      return response;
    }
  }
}

absl::StatusOr<v1::Reservation> Client::Renew(const v1::RenewRequest& request) {
  return ReservationOf(Call(*admission_, &Stub::Renew, request));
}

absl::StatusOr<v1::Reservation> Client::Adopt(const v1::AdoptRequest& request) {
  return ReservationOf(Call(*admission_, &Stub::Adopt, request));
}

absl::StatusOr<v1::Reservation> Client::Release(
    const v1::ReleaseRequest& request) {
  return ReservationOf(Call(*admission_, &Stub::Release, request));
}

absl::StatusOr<v1::Reservation> Client::ReportOutcome(
    const v1::ReportOutcomeRequest& request) {
  return ReservationOf(Call(*admission_, &Stub::ReportOutcome, request));
}

absl::StatusOr<v1::ListReservationsResponse> Client::ListReservations(
    bool show_ended, const std::string& device_id) {
  v1::ListReservationsResponse all;
  v1::ListReservationsRequest request;
  request.set_page_size(kReservationsPerPage);
  request.set_show_ended(show_ended);
  request.set_device_id(device_id);
  do {
    MEMPLAN_ASSIGN_OR_RETURN(
        v1::ListReservationsResponse page,
        Call(*admission_, &Stub::ListReservations, request));
    request.set_page_token(page.next_page_token());
    all.mutable_reservations()->MergeFrom(page.reservations());
  } while (!request.page_token().empty());
  return all;
}

}  // namespace memplan
