// The flags by which a command line says what a job takes, where, and for whom:
// shared by check, reserve, wait and run.
#ifndef MEMPLAN_CLIENT_CLI_JOB_FLAGS_H_
#define MEMPLAN_CLIENT_CLI_JOB_FLAGS_H_

#include <CLI/App.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/cli/console.h"
#include "client/client.h"
#include "memplan/v1/admission_service.pb.h"

namespace memplan {

struct JobFlags {
  v1::Job job;        // all but the model's name
  std::string model;  // a file, or a stored model's SHA-256 or its beginning
};

struct ReserveFlags {
  JobFlags job;
  v1::ReserveRequest request;  // all but the job
};

// --bytes, or --model, --batch, --train, --infer, --infer-grad, --probe; then
// --device, --placement, --headroom, --max-staleness, --unknown.
void AddJobFlags(CLI::App& verb, JobFlags& flags);
// Those, and --lifetime, --holder, --request-id.
void AddReserveFlags(CLI::App& verb, ReserveFlags& flags);

// The job with its model's name found out; a file is only hashed, never
// uploaded. UsageError if the flags do not say what it takes.
absl::StatusOr<v1::Job> JobOf(const JobFlags& flags, Client& client);

// A request with an id of its own, so that it is safe to repeat.
absl::StatusOr<v1::ReserveRequest> RequestOf(const ReserveFlags& flags,
                                             Client& client);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_JOB_FLAGS_H_
