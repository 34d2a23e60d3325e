#include "server/convert/plan_to_proto.h"

#include <cstddef>
#include <optional>

#include "server/convert/enums.h"
#include "server/convert/prediction_to_proto.h"
#include "server/convert/times.h"

namespace memplan {
namespace {

v1::Peaks ToProto(const Peaks& peaks) {
  v1::Peaks proto;
  proto.set_requested_bytes(peaks.requested.count());
  proto.set_allocated_bytes(peaks.allocated.count());
  proto.set_active_bytes(peaks.active.count());
  if (peaks.reserved) proto.set_reserved_bytes(peaks.reserved->count());
  return proto;
}

v1::StepResult ToProto(const StepResult& step, size_t index) {
  v1::StepResult proto;
  proto.set_index(static_cast<int32_t>(index));
  *proto.mutable_peaks() = ToProto(step.peaks);
  *proto.mutable_duration() = ToDuration(step.seconds);
  proto.set_allocation_retries(step.allocation_retries);
  proto.set_failed_requests(step.failed_requests);
  proto.set_kind(ToProto(step.kind));
  proto.set_batch(step.batch);
  return proto;
}

v1::Quantity ToProto(const Quantity& quantity) {
  v1::Quantity proto;
  proto.set_bytes(quantity.bytes.count());
  proto.set_provenance(ToProto(quantity.provenance));
  proto.set_trial_number(quantity.trial_number);
  return proto;
}

v1::WarmUp ToProto(const WarmUp& warm_up) {
  v1::WarmUp proto;
  proto.set_trial_number(warm_up.trial_number);
  proto.set_steps(warm_up.steps);
  proto.set_settled(warm_up.settled);
  *proto.mutable_first_step_duration() = ToDuration(warm_up.first_seconds);
  *proto.mutable_steady_step_duration() = ToDuration(warm_up.steady_seconds);
  return proto;
}

void SetQuantities(const Plan& plan, v1::Plan& proto) {
  if (plan.peak_requested) {
    *proto.mutable_peak_requested() = ToProto(*plan.peak_requested);
  }
  if (plan.peak_allocated) {
    *proto.mutable_peak_allocated() = ToProto(*plan.peak_allocated);
  }
  if (plan.peak_active) {
    *proto.mutable_peak_active() = ToProto(*plan.peak_active);
  }
  if (plan.peak_reserved) {
    *proto.mutable_peak_reserved() = ToProto(*plan.peak_reserved);
  }
  if (plan.steady_peak_allocated) {
    *proto.mutable_steady_peak_allocated() =
        ToProto(*plan.steady_peak_allocated);
  }
  if (plan.steady_peak_reserved) {
    *proto.mutable_steady_peak_reserved() = ToProto(*plan.steady_peak_reserved);
  }
  if (plan.context) *proto.mutable_context() = ToProto(*plan.context);
  if (plan.fragmentation) {
    *proto.mutable_fragmentation() = ToProto(*plan.fragmentation);
  }
  if (plan.fragmentation_ratio) {
    proto.set_fragmentation_ratio(*plan.fragmentation_ratio);
  }
}

v1::AttributedRequest ToProto(const AttributedRequest& request) {
  v1::AttributedRequest proto;
  proto.set_bytes(request.bytes.count());
  proto.set_phase(request.phase);
  proto.set_operator_name(request.operator_name);
  proto.set_innermost_name(request.innermost_name);
  return proto;
}

v1::ContentsDependence ToProto(const ContentsDependence& contents) {
  v1::ContentsDependence proto;
  for (const std::string& name : contents.operator_names) {
    proto.add_operator_names(name);
  }
  proto.set_at_peak_bytes(contents.at_peak.count());
  return proto;
}

// Of a trial and of a plan alike.
template <typename From, typename To>
void SetAttribution(const From& from, To& to) {
  if (from.peak_request) {
    *to.mutable_peak_request() = ToProto(*from.peak_request);
  }
  if (from.contents_dependence) {
    *to.mutable_contents_dependence() = ToProto(*from.contents_dependence);
  }
}

}  // namespace

v1::Trial ToProto(const Trial& trial, int number) {
  v1::Trial proto;
  proto.set_number(number);
  proto.set_batch(trial.batch);
  proto.set_purpose(ToProto(trial.purpose));
  proto.set_outcome(ToProto(trial.outcome));
  proto.set_message(trial.message);
  proto.set_end_class(trial.end_class);
  *proto.mutable_peaks() = ToProto(TrialPeaks(trial));
  for (size_t i = 0; i < trial.steps.size(); ++i) {
    *proto.add_steps() = ToProto(trial.steps[i], i);
  }
  *proto.mutable_load_peaks() = ToProto(trial.load_peaks);
  if (trial.context) proto.set_context_bytes(trial.context->count());
  proto.set_context_source(trial.context_source);
  if (trial.cap) proto.set_cap_bytes(trial.cap->count());
  proto.set_allocation_retries(AllocationRetries(trial));
  proto.set_failed_requests(FailedRequests(trial));
  *proto.mutable_duration() = ToDuration(trial.seconds);
  proto.set_trace_events(trial.trace_events);
  proto.set_trace_overflowed(trial.trace_overflowed);
  if (const std::optional<Bytes> fragmentation = Fragmentation(trial)) {
    proto.set_fragmentation_bytes(fragmentation->count());
  }
  SetAttribution(trial, proto);
  if (trial.refused_request) {
    *proto.mutable_refused_request() = ToProto(*trial.refused_request);
  }
  return proto;
}

v1::Plan ToProto(const Plan& plan) {
  v1::Plan proto;
  proto.set_verdict(ToProto(plan.answer.end));
  proto.set_safe_batch(plan.answer.safe_batch);
  proto.set_verified(plan.verified);
  proto.set_verifying_trials(plan.answer.verifying_trials);
  proto.set_limit(ToProto(plan.answer.limit));
  proto.set_limit_message(plan.answer.message);
  SetQuantities(plan, proto);
  for (const Neighbour& neighbour : plan.neighbours) {
    v1::Neighbour* added = proto.add_neighbours();
    added->set_batch(neighbour.batch);
    added->set_outcome(ToProto(neighbour.outcome));
    added->set_trial_number(neighbour.trial_number);
    added->set_provenance(neighbour.trial_number == 0
                              ? v1::PROVENANCE_ESTIMATE
                              : v1::PROVENANCE_MEASURED);
  }
  proto.set_trial_count(plan.trial_count);
  proto.set_out_of_memory_count(plan.out_of_memory_count);
  *proto.mutable_duration() = ToDuration(plan.seconds);
  for (const int64_t batch : plan.answer.unsafe_running_batches) {
    proto.add_unsafe_running_batches(batch);
  }
  proto.set_peak_step(plan.peak_step);
  if (plan.warm_up) *proto.mutable_warm_up() = ToProto(*plan.warm_up);
  proto.set_method(plan.predicted ? v1::PLAN_METHOD_PREDICTED
                                  : v1::PLAN_METHOD_BISECTED);
  proto.set_fall_back_reason(plan.fall_back_reason);
  proto.set_recording_trials(plan.recording_trials);
  if (plan.predicted) *proto.mutable_prediction() = ToProto(*plan.predicted);
  SetAttribution(plan, proto);
  return proto;
}

}  // namespace memplan
