#include "tests/cuda/worker/recorded_trace_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planner/trace/signature_text.h"
#include "planner/trace/trace_builder.h"

namespace memplan::gpu {
namespace {

// The kinds that a trace on the CPU device has.
EventKind KindIn(TraceEvent event) {
  static const std::map<TraceEvent, EventKind> kinds = {
      {TraceEvent::kPhase, EventKind::kPhase},
      {TraceEvent::kOperator, EventKind::kOperator},
      {TraceEvent::kAlloc, EventKind::kAlloc},
      {TraceEvent::kFree, EventKind::kFree},
      {TraceEvent::kFailedRequest, EventKind::kFailedRequest},
      {TraceEvent::kFreeRequested, EventKind::kFreeRequested}};
  return kinds.at(event);
}

}  // namespace

Trace PlannersTrace(const MemoryFile& file) {
  const std::vector<std::string> names = file.Names();
  TraceBuilder builder;
  for (const TraceRecord& record : file.Records()) {
    const bool is_operator = record.event == TraceEvent::kOperator;
    TraceEntry entry;
    entry.kind = KindIn(record.event);
    entry.depth = record.depth;
    if (record.name != kNoName) entry.name = names.at(record.name);
    if (!is_operator && record.event != TraceEvent::kPhase) {
      entry.address = record.address;
      entry.bytes = static_cast<int64_t>(record.bytes);
    }
    EXPECT_TRUE(builder.Add(entry).ok());
    if (!is_operator || record.address == 0) continue;
    const auto signature = ReadSignature(names.at(record.address - 1),
                                         builder.signatures(), builder.names());
    EXPECT_TRUE(signature.ok()) << signature.status();
    EXPECT_TRUE(builder.AddSignature(*signature).ok());
  }
  return builder.Build().value();
}

}  // namespace memplan::gpu
