// Under what a replay runs: the settings, and how much memory there is.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_CONDITIONS_H_
#define MEMPLAN_PLANNER_ALLOCATOR_CONDITIONS_H_

#include <cmath>
#include <cstdint>
#include <optional>

#include "planner/allocator/settings.h"
#include "planner/base/bytes.h"

namespace memplan {

// A plain value.
struct AllocatorConditions {
  AllocatorSettings settings;
  // What the allocator may take. Without it the settings' memory fraction of the
  // device holds, and without that there is no cap.
  std::optional<Bytes> cap;
  // What the driver can give to this process; none: all that is asked for.
  std::optional<Bytes> device_free;
  // As CUDA reports it; that of an H200 unless told otherwise. The range of an
  // expandable segment is 9/8 of it.
  Bytes device_total = Bytes(150'109'880'320);

  std::optional<Bytes> EffectiveCap() const {
    if (cap.has_value() || settings.memory_fraction >= 1) return cap;
    return Bytes(static_cast<int64_t>(std::floor(
        settings.memory_fraction * static_cast<double>(device_total.count()))));
  }

  friend bool operator==(const AllocatorConditions&,
                         const AllocatorConditions&) = default;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_CONDITIONS_H_
