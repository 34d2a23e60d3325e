// The addresses that segments had in a recording, for a replay under the same
// conditions. Compares what it is asked for with what was recorded.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_RECORDED_ADDRESSES_H_
#define MEMPLAN_PLANNER_ALLOCATOR_RECORDED_ADDRESSES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "planner/allocator/address_source.h"
#include "planner/trace/trace.h"

namespace memplan {

// `trace` must outlive it. Not thread-safe.
class RecordedAddresses : public AddressSource {
 public:
  explicit RecordedAddresses(const Trace& trace);

  std::optional<uint64_t> AddSegment(int64_t size) override;
  std::optional<uint64_t> AddRange(int64_t size) override;
  void OnMap(uint64_t address, int64_t size) override;
  void Reset() override;

  // kFailedPrecondition, with the event and what to do, from the first call on
  // whose answer was not recorded.
  absl::Status status() const override { return status_; }

 private:
  // The next segment or mapped piece; none if there is no other, or it is not
  // of this kind, which status() then says.
  const TraceEvent* Next(EventKind kind, int64_t size);

  const Trace& trace_;
  std::vector<uint32_t> events_;  // indices of kSegmentAlloc and kSegmentMap
  size_t next_ = 0;
  absl::Status status_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_RECORDED_ADDRESSES_H_
