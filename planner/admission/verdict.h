// What is said of a job on a device. The same words as proto Verdict and
// VerdictReason.
#ifndef MEMPLAN_PLANNER_ADMISSION_VERDICT_H_
#define MEMPLAN_PLANNER_ADMISSION_VERDICT_H_

#include <optional>

#include "absl/time/time.h"
#include "planner/base/bytes.h"

namespace memplan {

enum class Verdict { kFits, kNotNow, kNever, kUnknown };

enum class VerdictReason {
  kRoom,              // fits
  kNoRoom,            // not now: less is available than it may take
  kHeldForWaiter,     // not now: somebody has waited long for this device
  kAboveDevice,       // never: more than the whole device can give
  kNoPlan,            // unknown: nothing is stored about the model
  kPlanAmbiguous,     // unknown: several plans go with what was said
  kBatchNotMeasured,  // unknown: above the largest batch that ran
  kSnapshotStale,     // unknown: the last reading is too old
  kDeviceLost,        // unknown: the device cannot be read
  kMemoryNotTold,     // unknown: the driver does not say what is left
  kNoDevice,          // unknown: no device to choose from
  kPartitioned,       // never: MIG instances have its memory
};
inline constexpr int kVerdictReasons = 12;

struct Judgement {
  Verdict verdict = Verdict::kUnknown;
  VerdictReason reason = VerdictReason::kNoDevice;
  // What the job could have taken; unset if nobody knows.
  std::optional<Bytes> available;
  // When to ask again, for kNotNow and kUnknown.
  std::optional<absl::Duration> retry_after;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_VERDICT_H_
