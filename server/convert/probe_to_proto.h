// Probes as protos. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_PROBE_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_PROBE_TO_PROTO_H_

#include "memplan/v1/probe_service.pb.h"
#include "server/probe/probe.h"

namespace memplan {

// The spec with the defaults that were filled in.
v1::ProbeSpec ToProto(const ProbeSpec& spec);

// The whole probe.
v1::Probe ToProto(const Probe& probe);

// The probe without its trials, as lists show it.
v1::Probe ToProtoWithoutTrials(const Probe& probe);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_PROBE_TO_PROTO_H_
