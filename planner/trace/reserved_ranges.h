// The memory that a trace holds from the driver at one moment: whole segments
// and mapped pieces of expandable ones. Checks that events about it can be true.
#ifndef MEMPLAN_PLANNER_TRACE_RESERVED_RANGES_H_
#define MEMPLAN_PLANNER_TRACE_RESERVED_RANGES_H_

#include <cstdint>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"

namespace memplan {

// Half open: [begin, end).
struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Each method changes nothing on error; errors are kInvalidArgument and say what
// is in the way. Not thread-safe.
class ReservedRanges {
 public:
  absl::Status AddSegment(AddressRange segment);
  absl::Status RemoveSegment(AddressRange segment);
  absl::Status Map(AddressRange piece);
  absl::Status Unmap(AddressRange piece);

  // Whether all of `block` is in one segment or in mapped memory.
  bool Holds(AddressRange block) const;
  bool empty() const { return ranges_.empty(); }

 private:
  enum class Kind { kSegment, kMapped };
  struct Held {
    uint64_t end;
    Kind kind;
  };
  using Ranges = absl::btree_map<uint64_t, Held>;

  // The range that holds `address`, or end().
  Ranges::const_iterator Holding(uint64_t address) const;
  absl::Status CheckFree(AddressRange range) const;

  Ranges ranges_;  // by their begin; mapped neighbours are one range
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_RESERVED_RANGES_H_
