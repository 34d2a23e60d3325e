#include "planner/admission/check.h"

#include <algorithm>

namespace memplan {
namespace {

// What changes a device's room by itself (a neighbour ends) is not foreseen, so
// that asking again is never put off for long.
constexpr absl::Duration kSoonest = absl::Seconds(1);
constexpr absl::Duration kUsual = absl::Seconds(5);
constexpr absl::Duration kLatest = absl::Seconds(30);

Judgement NotNow(VerdictReason reason, Bytes available,
                 const CheckRules& rules) {
  return {.verdict = Verdict::kNotNow,
          .reason = reason,
          .available = available,
          .retry_after = std::clamp(rules.next_expiry.value_or(kUsual),
                                    kSoonest, kLatest)};
}

// Why nobody knows what the device has; unset if the reading holds. `available`
// is by that reading.
std::optional<VerdictReason> WhyUnknown(const DeviceAccount& account,
                                        std::optional<Bytes> available,
                                        const CheckRules& rules) {
  if (!account.device->read_error.empty()) return VerdictReason::kDeviceLost;
  if (!account.age || *account.age > rules.max_age) {
    return VerdictReason::kSnapshotStale;
  }
  if (!available) return VerdictReason::kMemoryNotTold;
  return std::nullopt;
}

// True if the job would be too large for the device with nobody else there.
bool IsAbove(const Need& need, const Device& device, Bytes headroom) {
  return device.total &&
         need.most > *device.total - device.driver_reserve.value_or(Bytes(0)) -
                         headroom;
}

// What the device would have if nobody but those who reserved were there.
std::optional<Bytes> WithoutOthers(const DeviceAccount& account,
                                   Bytes headroom) {
  const Device& device = *account.device;
  if (!device.total) return std::nullopt;
  return std::max(*device.total - device.driver_reserve.value_or(Bytes(0)) -
                      account.sums.measured - account.sums.outstanding -
                      headroom,
                  Bytes(0));
}

}  // namespace

Judgement Unknown(VerdictReason reason, UnknownPolicy policy) {
  return {.verdict = policy == UnknownPolicy::kNotNow ? Verdict::kNotNow
                                                      : Verdict::kUnknown,
          .reason = reason,
          .available = std::nullopt,
          .retry_after = kUsual};
}

Judgement Judge(const Need& need, const DeviceAccount& account,
                const CheckRules& rules) {
  if (account.device->is_partitioned) {
    return {.verdict = Verdict::kNever,
            .reason = VerdictReason::kPartitioned,
            .available = Bytes(0),
            .retry_after = std::nullopt};
  }
  std::optional<Bytes> available = AvailableOn(account, rules.headroom);
  if (IsAbove(need, *account.device, rules.headroom)) {
    return {.verdict = Verdict::kNever,
            .reason = VerdictReason::kAboveDevice,
            .available = available,
            .retry_after = std::nullopt};
  }
  const std::optional<VerdictReason> unknown =
      WhyUnknown(account, available, rules);
  if (unknown && rules.unknown != UnknownPolicy::kByLastKnown) {
    return Unknown(*unknown, rules.unknown);
  }
  if (!available) available = WithoutOthers(account, rules.headroom);
  if (!available) {
    return Unknown(unknown.value_or(VerdictReason::kMemoryNotTold),
                   rules.unknown);
  }
  if (need.most > *available) {
    return NotNow(unknown.value_or(VerdictReason::kNoRoom), *available, rules);
  }
  if (rules.held_for_waiter) {
    return NotNow(VerdictReason::kHeldForWaiter, *available, rules);
  }
  return {.verdict = Verdict::kFits,
          .reason = unknown.value_or(VerdictReason::kRoom),
          .available = available,
          .retry_after = std::nullopt};
}

}  // namespace memplan
