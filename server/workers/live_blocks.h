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
  // `of_contents`: a block that comes in may be larger with other contents.
  // kInvalidArgument, in words that go on after "record N", if the record cannot
  // follow on those before.
  absl::Status Apply(const gpu::TraceRecord& record, bool of_contents = false);

  // The largest sum of requested bytes so far.
  Bytes peak() const { return peak_; }
  // Of what is live now.
  Bytes of_contents() const { return of_contents_; }

 private:
  struct Block {
    Bytes bytes;
    bool of_contents = false;
  };

  absl::Status Add(const gpu::TraceRecord& record, bool of_contents);
  absl::Status Remove(const gpu::TraceRecord& record);

  const size_t max_blocks_;
  std::unordered_map<uint64_t, Block> by_address_;
  Bytes live_;
  Bytes of_contents_;
  Bytes peak_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_LIVE_BLOCKS_H_
