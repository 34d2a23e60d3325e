// The blocks of a trace that are handed out and not yet freed, and how many
// bytes they ever were together. Believes nothing of the records it is given.
#ifndef MEMPLAN_SERVER_WORKERS_LIVE_BLOCKS_H_
#define MEMPLAN_SERVER_WORKERS_LIVE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "absl/status/status.h"
#include "cuda/worker/messages/trace_layout.h"
#include "planner/base/bytes.h"

namespace memplan {

// Not thread-safe.
class LiveBlocks {
 public:
  // At most `max_blocks` are live at once.
  explicit LiveBlocks(size_t max_blocks) : max_blocks_(max_blocks) {}

  // Takes a block in at kAlloc and out at kFree; passes over other events.
  // kInvalidArgument, in words that go on after "record N", if the record cannot
  // follow on those before.
  absl::Status Apply(const gpu::TraceRecord& record);

  // The largest sum of requested bytes so far.
  Bytes peak() const { return peak_; }

 private:
  absl::Status Add(const gpu::TraceRecord& record);
  absl::Status Remove(const gpu::TraceRecord& record);

  const size_t max_blocks_;
  std::unordered_map<uint64_t, Bytes> by_address_;
  Bytes live_;
  Bytes peak_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_LIVE_BLOCKS_H_
