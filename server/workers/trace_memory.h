// The memory file that a worker writes its trace into (trace_layout.h), and what
// the daemon makes of it. Sealed against shrinking and growing before the worker
// sees it; read with pread alone, so that nothing a hostile worker writes can do
// more than make its own trace unreadable.
#ifndef MEMPLAN_SERVER_WORKERS_TRACE_MEMORY_H_
#define MEMPLAN_SERVER_WORKERS_TRACE_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/messages/trace_layout.h"
#include "planner/base/bytes.h"
#include "server/base/descriptor.h"
#include "server/workers/trace_attribution.h"

namespace memplan {

// What a whole, consistent trace shows.
struct TraceSummary {
  gpu::TraceHeader header = {};
  // The largest sum of requested bytes live at one moment; of an overflowed
  // trace, as far as it goes.
  Bytes peak_requested;
  Attribution attribution;  // likewise

  bool overflowed() const {
    return header.records_lost > 0 || header.names_lost > 0;
  }
};

// The most blocks that may be live at one moment in a trace; real models have
// some ten thousand. Bounds the memory that reading takes.
inline constexpr size_t kMaxLiveBlocks = size_t{1} << 20;

// Not thread-safe.
class TraceMemory {
 public:
  // A new file with room for `size`, at least one record. kResourceExhausted.
  static absl::StatusOr<TraceMemory> Create(Bytes size);

  int descriptor() const { return file_.get(); }

  // Reads all of it. kDataLoss, with what is wrong and where, if it is not what
  // a worker writes: counts that pass the file, unknown events or names, blocks
  // handed out twice or freed without being live. Call it once the worker is
  // gone.
  absl::StatusOr<TraceSummary> Read() const;

  // Writes the part in use to a new file at `path`, laid out likewise, with the
  // header of `summary`. The file is removed again if it cannot be written.
  absl::Status WriteTo(const std::string& path,
                       const TraceSummary& summary) const;

 private:
  TraceMemory(Descriptor file, uint64_t size);

  Descriptor file_;
  uint64_t size_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_TRACE_MEMORY_H_
