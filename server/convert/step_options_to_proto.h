// How a step is run, as the API shows it. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_STEP_OPTIONS_TO_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_STEP_OPTIONS_TO_PROTO_H_

#include "memplan/v1/step_options.pb.h"
#include "server/probe/probe.h"

namespace memplan {

// With the defaults filled in; what goes only with training is left out without.
v1::StepOptions StepOptionsToProto(const ProbeSpec& spec);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_STEP_OPTIONS_TO_PROTO_H_
