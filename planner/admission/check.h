// Whether a job fits on a device: a need, an account and rules in, a judgement
// out. Pure, in whole bytes, and nothing wraps.
#ifndef MEMPLAN_PLANNER_ADMISSION_CHECK_H_
#define MEMPLAN_PLANNER_ADMISSION_CHECK_H_

#include <optional>

#include "absl/time/time.h"
#include "planner/admission/account.h"
#include "planner/admission/need.h"
#include "planner/admission/verdict.h"
#include "planner/base/bytes.h"

namespace memplan {

// What is said where nobody knows.
enum class UnknownPolicy {
  kReport,       // kUnknown
  kNotNow,       // kNotNow, with the same reason
  kByLastKnown,  // what the last reading and the promises say, however old
};

struct CheckRules {
  Bytes headroom = {};
  absl::Duration max_age = absl::Seconds(10);
  UnknownPolicy unknown = UnknownPolicy::kReport;
  // Somebody before this job waits for the device and may not be passed.
  bool held_for_waiter = false;
  // When the next promise on the device runs out, from now.
  std::optional<absl::Duration> next_expiry = {};
};

Judgement Judge(const Need& need, const DeviceAccount& account,
                const CheckRules& rules);

// `judgement` as `policy` turns it; for reasons that need no device.
Judgement Unknown(VerdictReason reason, UnknownPolicy policy);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_CHECK_H_
