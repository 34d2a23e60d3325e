#include "server/services/admission_service.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/admission_from_proto.h"
#include "server/convert/admission_to_proto.h"
#include "server/services/memory_wait.h"
#include "server/services/page.h"
#include "server/services/unary_answer.h"

namespace memplan {
namespace {

constexpr int kMostJobs = 256;

// `status` with `path` before its field, if it is about one.
absl::Status Within(const absl::Status& status, const std::string& path) {
  const std::string field = FieldOf(status);
  if (status.ok() || field.empty()) return status;
  return WithReason(status, ReasonOf(status), absl::StrCat(path, field));
}

// A reservation's refusals name fields of the job, but for its own.
absl::Status InRequest(const absl::Status& status) {
  return FieldOf(status) == "device_id" ? Within(status, "job.") : status;
}

absl::Status JudgeInto(Admission& admission, const v1::Job& job,
                       const std::string& path, v1::Judgement& judgement) {
  MEMPLAN_ASSIGN_OR_RETURN(const JobSpec spec, JobFromProto(job, path));
  const absl::StatusOr<Answer> answer = admission.Check(spec);
  if (!answer.ok()) return Within(answer.status(), path + ".");
  FillJudgement(*answer, judgement);
  return absl::OkStatus();
}

// Ends a call whose response has one reservation.
template <typename Response>
Admission::ReservationCallback AnswerWithReservation(Admission& admission,
                                                     const UnaryAnswer& answer,
                                                     Response* response) {
  return [&admission, answer,
          response](const absl::StatusOr<Reservation>& reservation) {
    answer.Finish([&] {
      if (reservation.ok()) {
        FillReservation(*reservation, admission.LeftOf(*reservation),
                        *response->mutable_reservation());
      }
      return reservation.status();
    });
  };
}

absl::Status FillPage(Admission& admission,
                      const v1::ListReservationsRequest& request,
                      v1::ListReservationsResponse& response) {
  std::vector<PageKey> keys;
  for (auto& [id, created] :
       admission.List(request.show_ended(), request.device_id())) {
    keys.push_back(
        {.id = std::move(id), .create_time = absl::ToChronoTime(created)});
  }
  std::sort(keys.begin(), keys.end(), [](const PageKey& a, const PageKey& b) {
    return std::pair(b.create_time, b.id) < std::pair(a.create_time, a.id);
  });
  MEMPLAN_ASSIGN_OR_RETURN(
      const Page page,
      FindPage(request.page_size(), request.page_token(), keys));
  const size_t end = std::min(keys.size(), page.begin + page.size);
  for (size_t i = page.begin; i < end; ++i) {
    const absl::StatusOr<Reservation> reservation = admission.Get(keys[i].id);
    if (!reservation.ok()) continue;  // forgotten meanwhile
    FillReservation(*reservation, admission.LeftOf(*reservation),
                    *response.add_reservations());
  }
  if (end > 0 && end < keys.size()) {
    response.set_next_page_token(PageToken(keys[end - 1]));
  }
  return absl::OkStatus();
}

}  // namespace

using Unary = grpc::ServerUnaryReactor;

Unary* AdmissionService::Check(Context* context,
                               const v1::CheckRequest* request,
                               v1::CheckResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    MEMPLAN_RETURN_IF_ERROR(support_.gate.Enter());
    return JudgeInto(admission_, request->job(), "job",
                     *response->mutable_judgement());
  });
}

Unary* AdmissionService::BatchCheck(Context* context,
                                    const v1::BatchCheckRequest* request,
                                    v1::BatchCheckResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    if (request->jobs_size() < 1 || request->jobs_size() > kMostJobs) {
      return RefusedAdmission(absl::StrCat("a call has 1 to ", kMostJobs,
                                           " jobs, not ", request->jobs_size()),
                              "jobs");
    }
    MEMPLAN_RETURN_IF_ERROR(support_.gate.Enter(request->jobs_size()));
    for (int i = 0; i < request->jobs_size(); ++i) {
      MEMPLAN_RETURN_IF_ERROR(JudgeInto(admission_, request->jobs(i),
                                        absl::StrCat("jobs[", i, "]"),
                                        *response->add_judgements()));
    }
    return absl::OkStatus();
  });
}

Unary* AdmissionService::Reserve(Context* context,
                                 const v1::ReserveRequest* request,
                                 v1::ReserveResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) -> absl::Status {
    MEMPLAN_RETURN_IF_ERROR(support_.gate.Enter());
    MEMPLAN_ASSIGN_OR_RETURN(const ReserveSpec spec,
                             ReserveFromProto(*request, ""));
    admission_.Reserve(spec, [this, answer, response](
                                 const absl::StatusOr<Admitted>& admitted) {
      answer.Finish([&]() -> absl::Status {
        if (!admitted.ok()) return InRequest(admitted.status());
        FillJudgement(admitted->answer, *response->mutable_judgement());
        if (!admitted->reservation) return absl::OkStatus();
        FillReservation(*admitted->reservation,
                        admission_.LeftOf(*admitted->reservation),
                        *response->mutable_reservation());
        response->mutable_reservation()->set_token(
            admitted->reservation->token);
        return absl::OkStatus();
      });
    });
    return absl::OkStatus();
  });
}

Unary* AdmissionService::WaitForMemory(Context* context,
                                       const v1::WaitForMemoryRequest* request,
                                       v1::WaitForMemoryResponse* response) {
  // Deletes itself.
  return new MemoryWait(admission_, support_.longest_wait,
                        support_.watches.Take(ClientOf(*context)), *request,
                        *response);
}

Unary* AdmissionService::Renew(Context* context,
                               const v1::RenewRequest* request,
                               v1::RenewResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) -> absl::Status {
    MEMPLAN_ASSIGN_OR_RETURN(const absl::Duration lifetime,
                             LifetimeFromProto(*request));
    MEMPLAN_ASSIGN_OR_RETURN(const std::optional<Bytes> promised,
                             PromisedFromProto(*request));
    admission_.Renew(request->id(), request->token(), lifetime, promised,
                     AnswerWithReservation(admission_, answer, response));
    return absl::OkStatus();
  });
}

Unary* AdmissionService::Adopt(Context* context,
                               const v1::AdoptRequest* request,
                               v1::AdoptResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) -> absl::Status {
    if (request->pid() < 1 || request->start_ticks() < 0) {
      return RefusedAdmission(
          "a process has a number of at least 1, and a "
          "start time of at least 0",
          "pid");
    }
    admission_.Adopt(request->id(), request->token(),
                     {request->pid(), request->start_ticks()},
                     AnswerWithReservation(admission_, answer, response));
    return absl::OkStatus();
  });
}

Unary* AdmissionService::Release(Context* context,
                                 const v1::ReleaseRequest* request,
                                 v1::ReleaseResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) {
    admission_.Release(request->id(), request->token(),
                       AnswerWithReservation(admission_, answer, response));
    return absl::OkStatus();
  });
}

Unary* AdmissionService::GetReservation(
    Context* context, const v1::GetReservationRequest* request,
    v1::GetReservationResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    MEMPLAN_RETURN_IF_ERROR(support_.gate.Enter());
    MEMPLAN_ASSIGN_OR_RETURN(const Reservation reservation,
                             admission_.Get(request->id()));
    FillReservation(reservation, admission_.LeftOf(reservation),
                    *response->mutable_reservation());
    return absl::OkStatus();
  });
}

Unary* AdmissionService::ListReservations(
    Context* context, const v1::ListReservationsRequest* request,
    v1::ListReservationsResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    MEMPLAN_RETURN_IF_ERROR(support_.gate.Enter());
    return FillPage(admission_, *request, *response);
  });
}

Unary* AdmissionService::ReportOutcome(Context* context,
                                       const v1::ReportOutcomeRequest* request,
                                       v1::ReportOutcomeResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) -> absl::Status {
    switch (request->outcome()) {
      case v1::JOB_OUTCOME_DONE:
      case v1::JOB_OUTCOME_FAILED:
      case v1::JOB_OUTCOME_OUT_OF_MEMORY:
        break;
      default:
        return RefusedAdmission("say how the job ended", "outcome");
    }
    admission_.ReportOutcome(
        request->id(), request->token(),
        request->outcome() == v1::JOB_OUTCOME_OUT_OF_MEMORY,
        AnswerWithReservation(admission_, answer, response));
    return absl::OkStatus();
  });
}

}  // namespace memplan
