// Jobs and reservations as callers ask for them. Whatever is out of its range is
// refused with the field's path. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_ADMISSION_FROM_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_ADMISSION_FROM_PROTO_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "memplan/v1/admission_service.pb.h"
#include "server/admission/job_spec.h"

namespace memplan {

// kInvalidArgument (INVALID_ADMISSION) about a field whose path begins with
// `path`, such as `job` or `jobs[3]`.
absl::StatusOr<JobSpec> JobFromProto(const v1::Job& job,
                                     const std::string& path);

// As JobFromProto; `path` (empty, or with a dot at its end) stands before the
// names of the request's fields.
absl::StatusOr<ReserveSpec> ReserveFromProto(const v1::ReserveRequest& request,
                                             const std::string& path);

// Zero if it is left out.
absl::StatusOr<absl::Duration> LifetimeFromProto(const v1::RenewRequest& renew);
absl::StatusOr<std::optional<Bytes>> PromisedFromProto(
    const v1::RenewRequest& renew);

// How long to wait: `longest` if it is left out, and at most.
absl::StatusOr<std::chrono::milliseconds> PatienceFromProto(
    const v1::WaitForMemoryRequest& request, std::chrono::milliseconds longest);

// kInvalidArgument (INVALID_ADMISSION).
absl::Status RefusedAdmission(const std::string& message,
                              const std::string& field);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_ADMISSION_FROM_PROTO_H_
