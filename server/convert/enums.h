// Enums between our structs and protos. A value that a client may not send, be
// it unspecified or unknown, is unset here. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_ENUMS_H_
#define MEMPLAN_SERVER_CONVERT_ENUMS_H_

#include <optional>

#include "cuda/worker/messages/step_options.h"
#include "memplan/v1/plan.pb.h"
#include "memplan/v1/probe_service.pb.h"
#include "memplan/v1/step_options.pb.h"
#include "planner/plan/plan.h"
#include "server/probe/probe.h"

namespace memplan {

std::optional<gpu::Mode> FromProto(v1::Mode mode);
// OPTIMIZER_UNSPECIFIED is kNone here; whether it goes with the mode is not
// judged.
std::optional<gpu::Optimizer> FromProto(v1::Optimizer optimizer);
std::optional<gpu::RunAs> FromProto(v1::RunAs run_as);
// SEARCH_METHOD_UNSPECIFIED is kAuto.
std::optional<SearchMethod> FromProto(v1::SearchMethod method);
// Unspecified is the default here, which is a value.
std::optional<gpu::Autocast> FromProto(v1::Autocast autocast);
std::optional<gpu::ZeroGrad> FromProto(v1::ZeroGrad zero_grad);
std::optional<gpu::OptimizerImplementation> FromProto(
    v1::OptimizerImplementation implementation);

v1::Mode ToProto(gpu::Mode mode);
v1::Optimizer ToProto(gpu::Optimizer optimizer);
v1::RunAs ToProto(gpu::RunAs run_as);
v1::SearchMethod ToProto(SearchMethod method);
v1::Autocast ToProto(gpu::Autocast autocast);
v1::ZeroGrad ToProto(gpu::ZeroGrad zero_grad);
v1::OptimizerImplementation ToProto(
    gpu::OptimizerImplementation implementation);
v1::StepKind ToProto(StepKind kind);
v1::ProbeState ToProto(ProbeState state);
v1::WaitingReason ToProto(WaitingReason reason);
v1::TrialPurpose ToProto(TrialPurpose purpose);
v1::TrialOutcome ToProto(TrialOutcome outcome);
v1::Provenance ToProto(Provenance provenance);
// kFailed has no verdict: such a probe has an error and no plan.
v1::PlanVerdict ToProto(SearchEnd end);
v1::SearchLimit ToProto(SearchLimit limit);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_ENUMS_H_
