#include "planner/admission/account.h"

#include <algorithm>

namespace memplan {

std::optional<Bytes> LeftOn(const Device& device) {
  std::optional<Bytes> left = device.free;
  if (device.total && device.used) {
    const Bytes counted =
        *device.total - *device.used - device.driver_reserve.value_or(Bytes(0));
    left = std::min(counted, left.value_or(counted));
  }
  if (!left) return std::nullopt;
  if (device.total) left = std::min(*left, *device.total);
  return std::max(*left, Bytes(0));
}

std::optional<Bytes> AvailableOn(const DeviceAccount& account, Bytes headroom) {
  const std::optional<Bytes> left = LeftOn(*account.device);
  if (!left) return std::nullopt;
  return std::max(*left - account.sums.outstanding - headroom, Bytes(0));
}

}  // namespace memplan
