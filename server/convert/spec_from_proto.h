// What a client asks of a probe, checked field by field and with the defaults
// filled in: what comes out needs no further check. Pure.
//
// Every refusal is kInvalidArgument with the field's path in CreateProbeRequest
// (`spec.inputs[0]`), for the first field that is wrong.
#ifndef MEMPLAN_SERVER_CONVERT_SPEC_FROM_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_SPEC_FROM_PROTO_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/probe_service.pb.h"
#include "server/devices/device_monitor.h"
#include "server/probe/probe.h"

namespace memplan {

// The spec. Returns INVALID_PROBE_SPEC, or INPUT_SPEC_SYNTAX with the column for
// an input that does not parse. proto/memplan/v1/probe_service.proto has the
// rules.
absl::StatusOr<ProbeSpec> SpecFromProto(const v1::ProbeSpec& proto);

// OK if `spec` goes with the devices there are. Returns kNotFound
// (DEVICE_NOT_FOUND), or kInvalidArgument (CAP_ABOVE_DEVICE,
// BUDGET_ABOVE_DEVICE) if the limit is above the device's total.
absl::Status CheckAgainstDevices(const ProbeSpec& spec,
                                 const DeviceSnapshot& snapshot);

// kNotFound (DEVICE_NOT_FOUND) that names the devices there are.
absl::Status NoSuchDevice(const std::string& id, const DeviceSnapshot& snapshot,
                          std::string_view field);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_SPEC_FROM_PROTO_H_
