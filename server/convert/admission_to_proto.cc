#include "server/convert/admission_to_proto.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>

#include "server/convert/times.h"

namespace memplan {
namespace {

v1::Verdict ProtoOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return v1::VERDICT_FITS;
    case Verdict::kNotNow:
      return v1::VERDICT_NOT_NOW;
    case Verdict::kNever:
      return v1::VERDICT_NEVER;
    case Verdict::kUnknown:
      return v1::VERDICT_UNKNOWN;
  }
  return v1::VERDICT_UNSPECIFIED;
}

v1::VerdictReason ProtoOf(VerdictReason reason) {
  switch (reason) {
    case VerdictReason::kRoom:
      return v1::VERDICT_REASON_ROOM;
    case VerdictReason::kNoRoom:
      return v1::VERDICT_REASON_NO_ROOM;
    case VerdictReason::kHeldForWaiter:
      return v1::VERDICT_REASON_HELD_FOR_WAITER;
    case VerdictReason::kAboveDevice:
      return v1::VERDICT_REASON_ABOVE_DEVICE;
    case VerdictReason::kNoPlan:
      return v1::VERDICT_REASON_NO_PLAN;
    case VerdictReason::kPlanAmbiguous:
      return v1::VERDICT_REASON_PLAN_AMBIGUOUS;
    case VerdictReason::kBatchNotMeasured:
      return v1::VERDICT_REASON_BATCH_NOT_MEASURED;
    case VerdictReason::kSnapshotStale:
      return v1::VERDICT_REASON_SNAPSHOT_STALE;
    case VerdictReason::kDeviceLost:
      return v1::VERDICT_REASON_DEVICE_LOST;
    case VerdictReason::kMemoryNotTold:
      return v1::VERDICT_REASON_MEMORY_NOT_TOLD;
    case VerdictReason::kNoDevice:
      return v1::VERDICT_REASON_NO_DEVICE;
    case VerdictReason::kPartitioned:
      return v1::VERDICT_REASON_PARTITIONED;
  }
  return v1::VERDICT_REASON_UNSPECIFIED;
}

v1::NeedSource ProtoOf(NeedSource source) {
  switch (source) {
    case NeedSource::kStated:
      return v1::NEED_SOURCE_STATED;
    case NeedSource::kEstimate:
      return v1::NEED_SOURCE_ESTIMATE;
    case NeedSource::kMeasured:
      return v1::NEED_SOURCE_MEASURED;
    case NeedSource::kVerified:
      return v1::NEED_SOURCE_VERIFIED;
  }
  return v1::NEED_SOURCE_UNSPECIFIED;
}

v1::ReservationState ProtoOf(ReservationState state) {
  switch (state) {
    case ReservationState::kPromised:
      return v1::RESERVATION_STATE_PROMISED;
    case ReservationState::kAdopted:
      return v1::RESERVATION_STATE_ADOPTED;
    case ReservationState::kReleased:
      return v1::RESERVATION_STATE_RELEASED;
    case ReservationState::kExpired:
      return v1::RESERVATION_STATE_EXPIRED;
    case ReservationState::kDeviceGone:
      return v1::RESERVATION_STATE_DEVICE_GONE;
  }
  return v1::RESERVATION_STATE_UNSPECIFIED;
}

void FillSpan(absl::Duration span, google::protobuf::Duration& proto) {
  const timespec parts = absl::ToTimespec(span);
  proto.set_seconds(parts.tv_sec);
  proto.set_nanos(static_cast<int32_t>(parts.tv_nsec));
}

void FillDevice(const Answer& answer, v1::Judgement& proto) {
  const Device& device = *answer.device;
  proto.set_device_id(device.id);
  if (device.total) proto.set_total_bytes(device.total->count());
  if (device.driver_reserve) {
    proto.set_driver_reserve_bytes(device.driver_reserve->count());
  }
  if (device.used) proto.set_used_bytes(device.used->count());
  if (device.free) proto.set_free_bytes(device.free->count());
  if (device.unattributed) {
    proto.set_unattributed_bytes(device.unattributed->count());
  }
  proto.set_snapshot_id(device.snapshot_id);
}

void FillNeed(const Need& need, v1::Judgement& proto) {
  proto.set_need_least_bytes(need.least.count());
  proto.set_need_expected_bytes(need.expected.count());
  proto.set_need_most_bytes(need.most.count());
  proto.set_need_source(ProtoOf(need.source));
  proto.set_plan_id(need.plan_id);
}

}  // namespace

void FillJudgement(const Answer& answer, v1::Judgement& proto) {
  proto.set_verdict(ProtoOf(answer.judgement.verdict));
  proto.set_reason(ProtoOf(answer.judgement.reason));
  proto.set_message(WordsOf(answer));
  if (answer.judgement.retry_after) {
    FillSpan(*answer.judgement.retry_after, *proto.mutable_retry_after());
  }
  if (answer.judgement.available) {
    proto.set_available_bytes(answer.judgement.available->count());
  }
  if (answer.device != nullptr) FillDevice(answer, proto);
  proto.set_promised_bytes(answer.sums.promised.count());
  proto.set_outstanding_bytes(answer.sums.outstanding.count());
  proto.set_adopted_bytes(answer.sums.measured.count());
  proto.set_headroom_bytes(answer.headroom.count());
  proto.set_suggested_headroom_bytes(answer.suggested_headroom.count());
  if (answer.need) FillNeed(*answer.need, proto);
  if (answer.age) FillSpan(*answer.age, *proto.mutable_snapshot_age());
  for (const MemoryHolder& holder : answer.holders) {
    v1::MemoryHolder* added = proto.add_holders();
    added->set_bytes(holder.bytes.count());
    added->set_reservation_id(holder.reservation_id);
    added->set_pid(holder.pid);
    added->set_name(holder.name);
  }
}

void FillReservation(const Reservation& reservation, absl::Duration left,
                     v1::Reservation& proto) {
  proto.set_id(reservation.id);
  proto.set_device_id(reservation.device_id);
  proto.set_holder(reservation.holder);
  proto.set_state(ProtoOf(reservation.state));
  proto.set_promised_bytes(reservation.promised.count());
  FillSpan(reservation.lifetime, *proto.mutable_lifetime());
  if (reservation.state == ReservationState::kPromised) {
    FillSpan(left, *proto.mutable_expires_in());
  }
  for (const HeldProcess& process : reservation.processes) {
    v1::HeldProcess* added = proto.add_processes();
    added->set_pid(process.pid);
    added->set_start_ticks(process.start_ticks);
  }
  if (reservation.measured) proto.set_used_bytes(reservation.measured->count());
  proto.set_peak_bytes(reservation.peak.count());
  proto.set_over_promise(IsOverPromise(reservation));
  proto.set_ran_out_of_memory(reservation.ran_out_of_memory);
  proto.set_need_source(ProtoOf(reservation.need.source));
  proto.set_need_expected_bytes(reservation.need.expected.count());
  proto.set_plan_id(reservation.need.plan_id);
  proto.set_batch(reservation.need.batch);
  *proto.mutable_create_time() =
      ToTimestamp(absl::ToChronoTime(reservation.create_time));
  if (HasEnded(reservation.state)) {
    *proto.mutable_end_time() =
        ToTimestamp(absl::ToChronoTime(reservation.end_time));
  }
}

}  // namespace memplan
