// What admission has done since the daemon's start, and how it stands, for the
// metrics. Plain values.
#ifndef MEMPLAN_SERVER_ADMISSION_ADMISSION_COUNTS_H_
#define MEMPLAN_SERVER_ADMISSION_ADMISSION_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "planner/admission/account.h"
#include "planner/admission/verdict.h"
#include "planner/base/bytes.h"

namespace memplan {

inline constexpr int kVerdicts = 4;
inline constexpr int kReservationStates = 5;

// Upper bounds of the buckets of peak use over expected use; one more is above.
inline constexpr std::array<double, 10> kRatioBuckets = {
    0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.25, 1.5};

struct RatioCounts {
  std::array<int64_t, kRatioBuckets.size() + 1> by_bucket{};
  double sum = 0;
};

struct DeviceAdmission {
  std::string device_id;
  PromiseSums sums;
  int64_t over_promise = 0;           // live reservations
  std::optional<absl::Duration> age;  // of the last reading
  std::optional<Bytes> unattributed;
};

struct AdmissionCounts {
  std::vector<DeviceAdmission> devices;
  std::array<std::array<int64_t, kVerdictReasons>, kVerdicts> verdicts{};
  // Ended since the start, by state; 0 for the live states.
  std::array<int64_t, kReservationStates> ended{};
  int64_t expired_unused = 0;  // of those expired, never adopted
  int64_t false_admits = 0;
  int64_t waiters = 0;
  int64_t commits = 0;  // transactions of the store
  RatioCounts ratios;
  Bytes suggested_headroom;
  int64_t plans = 0;  // tables of needs
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_ADMISSION_COUNTS_H_
