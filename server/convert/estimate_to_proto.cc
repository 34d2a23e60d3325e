#include "server/convert/estimate_to_proto.h"

#include <algorithm>

namespace memplan {
namespace {

void SetInterval(const PeakEstimate& peak, v1::ByteInterval& proto) {
  proto.set_lower_bytes(peak.lower.count());
  proto.set_upper_bytes(peak.upper.count());
}

v1::EstimateReach ToProto(Reach reach) {
  switch (reach) {
    case Reach::kRecorded:
      return v1::ESTIMATE_REACH_RECORDED;
    case Reach::kInterpolated:
      return v1::ESTIMATE_REACH_INTERPOLATED;
    case Reach::kExtrapolated:
      return v1::ESTIMATE_REACH_EXTRAPOLATED;
  }
  return v1::ESTIMATE_REACH_UNSPECIFIED;
}

v1::SizeSources ToProto(const OriginBytes& bytes) {
  const auto of = [&bytes](SizeOrigin source) {
    return bytes.at(static_cast<size_t>(source)).count();
  };
  v1::SizeSources proto;
  proto.set_recorded_bytes(of(SizeOrigin::kRecorded));
  proto.set_constant_bytes(of(SizeOrigin::kConstant));
  proto.set_affine_bytes(of(SizeOrigin::kAffine));
  proto.set_quadratic_bytes(of(SizeOrigin::kQuadratic));
  proto.set_interpolated_bytes(of(SizeOrigin::kInterpolated));
  proto.set_closed_form_bytes(of(SizeOrigin::kClosedForm));
  proto.set_held_bytes(of(SizeOrigin::kHeld));
  proto.set_substituted_bytes(of(SizeOrigin::kSubstituted));
  return proto;
}

}  // namespace

v1::EstimateResponse ToProto(const ShapeEstimate& estimate,
                             const SymbolicTrace& symbolic) {
  v1::EstimateResponse proto;
  proto.set_peak_requested_bytes(estimate.requested.estimate.count());
  proto.set_peak_allocated_bytes(estimate.allocated.estimate.count());
  proto.set_peak_active_bytes(estimate.outcome.peaks.active.bytes.count());
  proto.set_peak_reserved_bytes(estimate.reserved.estimate.count());
  proto.set_ends(estimate.outcome.Runs() ? "ok" : "oom");
  if (estimate.failed_event) proto.set_failed_request(*estimate.failed_event);
  proto.set_segments_freed(estimate.outcome.segments_freed);
  proto.set_allocation_retries(estimate.outcome.retries);
  proto.set_steady_allocation_retries(estimate.outcome.steady_retries);
  v1::EstimateInterval& interval = *proto.mutable_interval();
  SetInterval(estimate.requested, *interval.mutable_peak_requested_bytes());
  SetInterval(estimate.allocated, *interval.mutable_peak_allocated_bytes());
  SetInterval(estimate.reserved, *interval.mutable_peak_reserved_bytes());
  proto.set_end_is_certain(estimate.is_end_certain);
  proto.set_reach(ToProto(estimate.reach));
  *proto.mutable_sources() = ToProto(estimate.requested_by_origin);
  proto.set_irregular_calls(estimate.irregular_calls);
  proto.set_assumed_calls(estimate.assumed_calls);
  const auto& ratios = symbolic.similarity_ratios;
  proto.set_similarity_ratio(
      ratios.empty() ? 1 : *std::min_element(ratios.begin(), ratios.end()));
  return proto;
}

}  // namespace memplan
