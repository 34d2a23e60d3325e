// The part of a probe's spec that says how a step is run. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_STEP_OPTIONS_FROM_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_STEP_OPTIONS_FROM_PROTO_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/probe_service.pb.h"
#include "planner/plan/input_spec.h"
#include "server/probe/probe.h"

namespace memplan {

// Reads `proto.step` into `spec`, whose mode is read. kInvalidArgument
// (INVALID_PROBE_SPEC, INPUT_SPEC_SYNTAX) with the field's path; `spec` is then
// of no use.
absl::Status ReadStepOptions(const v1::ProbeSpec& proto, ProbeSpec& spec);

// One input or target as it is written; `field` is its path.
absl::StatusOr<InputSpec> ReadInputSpec(const std::string& text,
                                        const std::string& field);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_STEP_OPTIONS_FROM_PROTO_H_
