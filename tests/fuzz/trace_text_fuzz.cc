// Texts of traces: what is read is written and read again as an equal trace, and
// can be replayed under any conditions without harm.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "planner/allocator/address_source.h"
#include "planner/allocator/block_map.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/recorded_addresses.h"
#include "planner/allocator/replay.h"
#include "planner/trace/text_format.h"

namespace memplan {
namespace {

void Replay(const Trace& trace, const AllocatorConditions& conditions,
            AddressSource& addresses) {
  CachingAllocator allocator(conditions, addresses);
  AllocatorCounters counters;
  allocator.set_counters(&counters);
  const auto report = TraceReplay(allocator).Run(trace);
  int64_t held = 0;
  for (const MappedSegment& segment : MapBlocks(allocator)) {
    for (const MappedBlock& block : segment.blocks) {
      if (block.state != BlockState::kUnmapped) held += block.size.count();
    }
  }
  if (held != allocator.reserved().count()) std::abort();
}

void ReadAndReplay(std::string_view text) {
  const auto trace = ReadTraceText(text);
  if (!trace.ok()) return;
  const auto again = ReadTraceText(WriteTraceText(*trace));
  if (!again.ok() || !(*again == *trace)) std::abort();

  AllocatorConditions conditions;
  RecordedAddresses recorded(*trace);
  Replay(*trace, conditions, recorded);
  conditions.cap = MiB(64);
  ChunkAddresses chunks;
  Replay(*trace, conditions, chunks);
  conditions.settings.expandable_segments = true;
  DescendingAddresses descending;
  Replay(*trace, conditions, descending);
}

}  // namespace
}  // namespace memplan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memplan::ReadAndReplay({reinterpret_cast<const char*>(data), size});
  return 0;
}
