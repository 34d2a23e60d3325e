#include "planner/plan/live_replay.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/rounding.h"
#include "planner/base/bytes.h"
#include "planner/plan/stream_replay.h"
#include "planner/trace/request_stream.h"

namespace memplan {
namespace {

void Raise(int64_t bytes, uint32_t event, Peak& peak) {
  if (Bytes(bytes) > peak.bytes) peak = {Bytes(bytes), event};
}

}  // namespace

StreamOutcome ReplayLiveBytes(const RequestStream& stream,
                              std::optional<Bytes> cap) {
  StreamOutcome outcome;
  AllocatorPeaks& peaks = outcome.peaks;
  std::vector<int64_t> sizes(stream.block_count, 0);
  int64_t requested = 0;
  int64_t allocated = 0;
  for (uint32_t i = 0; i < stream.requests.size(); ++i) {
    const Request& request = stream.requests[i];
    if (request.kind == RequestKind::kEmptyCache) continue;
    int64_t& size = sizes[request.block];
    requested -= size;
    allocated -= RoundUp(size, kMinBlock);
    size = 0;
    if (request.kind == RequestKind::kFree) continue;
    const int64_t block = RoundUp(request.bytes, kMinBlock);
    if (cap.has_value() && allocated + block > cap->count()) {
      outcome.failed_request = i;
      break;
    }
    size = request.bytes;
    requested += size;
    allocated += block;
    Raise(requested, i, peaks.requested);
    Raise(allocated, i, peaks.allocated);
  }
  peaks.active = peaks.allocated;
  peaks.reserved = peaks.allocated;
  peaks.reserved_at_peak_allocated = peaks.allocated.bytes;
  peaks.allocated_at_peak_reserved = peaks.allocated.bytes;
  return outcome;
}

}  // namespace memplan
