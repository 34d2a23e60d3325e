#include "server/convert/replay_to_proto.h"

#include <algorithm>

namespace memplan {
namespace {

v1::ReplayedPhase ToProto(const PhaseReport& phase) {
  v1::ReplayedPhase proto;
  proto.set_name(phase.name);
  proto.set_peak_requested_bytes(phase.peaks.requested.bytes.count());
  proto.set_peak_allocated_bytes(phase.peaks.allocated.bytes.count());
  proto.set_peak_reserved_bytes(phase.peaks.reserved.bytes.count());
  proto.set_allocation_retries(phase.retries);
  proto.set_segments_freed(phase.segments_freed);
  return proto;
}

}  // namespace

v1::ReplayResponse ToProto(const ReplayReport& report, int64_t events) {
  v1::ReplayResponse proto;
  const AllocatorPeaks& peaks = report.peaks;
  proto.set_peak_requested_bytes(peaks.requested.bytes.count());
  proto.set_peak_allocated_bytes(peaks.allocated.bytes.count());
  proto.set_peak_active_bytes(peaks.active.bytes.count());
  proto.set_peak_reserved_bytes(peaks.reserved.bytes.count());
  proto.set_ends(report.end == ReplayEnd::kOk ? "ok" : "oom");
  if (report.failed_request) proto.set_failed_request(*report.failed_request);
  proto.set_segments_freed(report.segments_freed);
  proto.set_allocation_retries(report.retries);
  proto.set_fragmentation_bytes(report.at_peak_allocated().bytes().count());
  proto.set_caught_failed_requests(std::count_if(
      report.failed_requests.begin(), report.failed_requests.end(),
      [](const FailedRequest& request) {
        return request.is_caught || request.was_recorded;
      }));
  proto.set_events(report.failed_request ? *report.failed_request + int64_t{1}
                                         : events);
  for (const PhaseReport& phase : report.phases) {
    *proto.add_phases() = ToProto(phase);
  }
  proto.mutable_peak_events()->set_requested(peaks.requested.event);
  proto.mutable_peak_events()->set_allocated(peaks.allocated.event);
  proto.mutable_peak_events()->set_active(peaks.active.event);
  proto.mutable_peak_events()->set_reserved(peaks.reserved.event);
  for (const auto& [name, value] : report.counters.Named()) {
    (*proto.mutable_counters())[name] = value;
  }
  return proto;
}

}  // namespace memplan
