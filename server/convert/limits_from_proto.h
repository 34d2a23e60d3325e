// What a probe as a whole may take of the node: time, trials, CPU, a device that
// others use. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_LIMITS_FROM_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_LIMITS_FROM_PROTO_H_

#include "absl/status/status.h"
#include "memplan/v1/probe_service.pb.h"
#include "server/probe/probe.h"

namespace memplan {

// Fills in time_limit, max_trials, niceness and only_when_idle; the spec's
// device is known already. kInvalidArgument (INVALID_PROBE_SPEC) with the field.
absl::Status ReadProbeLimits(const v1::ProbeSpec& proto, ProbeSpec& spec);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_LIMITS_FROM_PROTO_H_
