// The task of a probe, checked, with the defaults filled in. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_TASK_FROM_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_TASK_FROM_PROTO_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/probe_service.pb.h"
#include "server/probe/probe.h"

namespace memplan {

// The task of `proto`. Returns kInvalidArgument (INVALID_PROBE_SPEC) with the
// field's path if none is set, a batch is not in 1 … 2^31, or a count is out of
// its range.
absl::StatusOr<std::variant<ProfileTask, SearchOptions>> TaskFromProto(
    const v1::ProbeSpec& proto);

// How the search of `proto` is to find its answer; kAuto for a profile.
// kInvalidArgument (INVALID_PROBE_SPEC) for an unknown method, and for kPredict on
// the device `cpu`.
absl::StatusOr<SearchMethod> MethodFromProto(const v1::ProbeSpec& proto);

// OK if `batch` is 1 … 2^31; else kInvalidArgument (INVALID_PROBE_SPEC).
absl::Status CheckBatch(int64_t batch, const std::string& field);

// OK if each input and target has a shape at the largest batch that `spec` runs;
// else kInvalidArgument (INVALID_PROBE_SPEC).
absl::Status CheckShapes(const ProbeSpec& spec);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_TASK_FROM_PROTO_H_
