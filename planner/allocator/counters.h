// The counters that torch.cuda.memory_stats() shows, with its names, each for
// the small pool, the large pool and both.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_COUNTERS_H_
#define MEMPLAN_PLANNER_ALLOCATOR_COUNTERS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace memplan {

struct Counter {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t allocated = 0;  // all that was ever added
  int64_t freed = 0;      // all that was ever taken off

  // A negative change takes off.
  void Change(int64_t by) {
    current += by;
    peak = std::max(peak, current);
    (by > 0 ? allocated : freed) += by > 0 ? by : -by;
  }

  friend bool operator==(const Counter&, const Counter&) = default;
};

// A value.
struct AllocatorCounters {
  // One counter for each pool.
  struct ByPool {
    Counter small;
    Counter large;
    Counter all;

    void Change(bool is_small, int64_t by) {
      if (by == 0) return;
      (is_small ? small : large).Change(by);
      all.Change(by);
    }

    friend bool operator==(const ByPool&, const ByPool&) = default;
  };

  ByPool allocation;
  ByPool allocated_bytes;
  ByPool active;
  ByPool active_bytes;
  ByPool requested_bytes;
  ByPool segment;  // not those that are expandable
  ByPool reserved_bytes;
  ByPool inactive_split;
  ByPool inactive_split_bytes;
  Counter oversize_allocations;  // of max_split_size or more
  Counter oversize_segments;
  int64_t num_alloc_retries = 0;
  int64_t num_ooms = 0;
  int64_t num_sync_all_streams = 0;
  int64_t num_device_alloc = 0;  // segments and mapped pieces
  int64_t num_device_free = 0;

  // Names as in memory_stats(), such as allocated_bytes.all.peak.
  std::vector<std::pair<std::string, int64_t>> Named() const;

  friend bool operator==(const AllocatorCounters&,
                         const AllocatorCounters&) = default;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_COUNTERS_H_
