// What a replay tells: peaks and when they were reached, over all and for each
// phase (load, each step, …), what failed, and what it cost.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_REPORT_H_
#define MEMPLAN_PLANNER_ALLOCATOR_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/counters.h"
#include "planner/base/bytes.h"

namespace memplan {

enum class ReplayEnd {
  kOk,
  kOutOfMemory,  // a request failed that nothing catches
};

// Reserved less allocated, at one moment.
struct FragmentationAtMoment {
  Bytes reserved;
  Bytes allocated;

  Bytes bytes() const { return reserved - allocated; }
  // 0 … 1, of reserved.
  double ratio() const {
    return reserved.count() == 0 ? 0
                                 : static_cast<double>(bytes().count()) /
                                       static_cast<double>(reserved.count());
  }
};

struct FailedRequest {
  uint32_t event = 0;
  Bytes bytes;
  std::string operator_name;
  // It failed in the recording too.
  bool was_recorded = false;
  // By a convolution: cuDNN's caller tries its next plan.
  bool is_caught = false;

  friend bool operator==(const FailedRequest&, const FailedRequest&) = default;
};

struct PhaseReport {
  std::string name;
  uint32_t first_event = 0;
  uint32_t end_event = 0;  // one past the last
  AllocatorPeaks peaks;    // of what is held at the phase's start, too
  Bytes allocated_at_end;
  int64_t retries = 0;
  int64_t segments_freed = 0;
  int64_t failed_requests = 0;
};

struct ReplayReport {
  ReplayEnd end = ReplayEnd::kOk;
  // The first failed request that nothing catches.
  std::optional<uint32_t> failed_request;
  AllocatorPeaks peaks;
  // In order; events before the first mark are a phase without a name.
  std::vector<PhaseReport> phases;
  std::vector<FailedRequest> failed_requests;
  int64_t retries = 0;
  int64_t segments_freed = 0;
  // Requests that failed in the recording and do not here.
  int64_t served_failures = 0;
  // The first block that lies elsewhere than recorded.
  std::optional<uint32_t> first_moved;
  AllocatorCounters counters;  // if they were asked for

  // At the peak of allocated bytes, and at that of reserved ones.
  FragmentationAtMoment at_peak_allocated() const {
    return {peaks.reserved_at_peak_allocated, peaks.allocated.bytes};
  }
  FragmentationAtMoment at_peak_reserved() const {
    return {peaks.reserved.bytes, peaks.allocated_at_peak_reserved};
  }
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_REPORT_H_
