// Judgements and reservations as protos. What nobody knows stays unset. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_ADMISSION_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_ADMISSION_TO_PROTO_H_

#include "absl/time/time.h"
#include "memplan/v1/admission_service.pb.h"
#include "planner/admission/reservation.h"
#include "server/admission/job_spec.h"

namespace memplan {

void FillJudgement(const Answer& answer, v1::Judgement& proto);

// Without the token. `left` of its lifetime is told of a promised one.
void FillReservation(const Reservation& reservation, absl::Duration left,
                     v1::Reservation& proto);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_ADMISSION_TO_PROTO_H_
