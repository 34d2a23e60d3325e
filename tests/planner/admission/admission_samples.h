// Devices and reservations to judge, as the tests of admission make them.
#ifndef MEMPLAN_TESTS_PLANNER_ADMISSION_ADMISSION_SAMPLES_H_
#define MEMPLAN_TESTS_PLANNER_ADMISSION_ADMISSION_SAMPLES_H_

#include <string>

#include "planner/admission/device.h"
#include "planner/admission/reservation.h"

namespace memplan::testing {

// A card of which `used` is in use, as NVML tells of it.
inline Device Card(Bytes total, Bytes driver_reserve, Bytes used) {
  Device device;
  device.id = "GPU-a";
  device.total = total;
  device.driver_reserve = driver_reserve;
  device.used = used;
  device.free = total - driver_reserve - used;
  return device;
}

inline Reservation Promise(const std::string& id, Bytes bytes,
                           absl::Duration expires_at = absl::Seconds(60)) {
  Reservation reservation;
  reservation.id = id;
  reservation.device_id = "GPU-a";
  reservation.promised = bytes;
  reservation.need = StatedNeed(bytes);
  reservation.lifetime = absl::Seconds(60);
  reservation.expires_at = expires_at;
  return reservation;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_ADMISSION_ADMISSION_SAMPLES_H_
