#include "planner/trace/request_stream.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/trace/event.h"
#include "planner/trace/outer_calls.h"
#include "planner/trace/outline.h"
#include "planner/trace/trace.h"

namespace memplan {
namespace {

void AddPhase(const Trace& trace, uint32_t name, RequestStream& stream) {
  const std::string_view text = trace.names.Name(name);
  const bool is_step = text.starts_with("step");
  stream.phases.push_back(
      {.begin = static_cast<uint32_t>(stream.requests.size()),
       .name = name,
       .is_step = is_step,
       .is_part = is_step && text.find('/') != std::string_view::npos});
}

void AddEvent(const Trace& trace, uint32_t index, RequestStream& stream) {
  const TraceEvent& event = trace.events[index];
  Request request{.block = event.link,
                  .stream = static_cast<uint16_t>(event.stream)};
  switch (event.kind) {
    case EventKind::kAlloc:
      request.bytes = event.bytes;
      break;
    case EventKind::kFree:
      request.kind = RequestKind::kFree;
      break;
    case EventKind::kEmptyCache:
      request = {.kind = RequestKind::kEmptyCache};
      break;
    case EventKind::kPhase:
      AddPhase(trace, event.name, stream);
      return;
    default:
      return;
  }
  stream.requests.push_back(request);
  stream.events.push_back(index);
}

// By event: how many requests come before it; one more at the end.
std::vector<uint32_t> RequestsBefore(const Trace& trace,
                                     const RequestStream& stream) {
  std::vector<uint32_t> before(trace.events.size() + 1);
  uint32_t request = 0;
  for (uint32_t i = 0; i < before.size(); ++i) {
    while (request < stream.events.size() && stream.events[request] < i) {
      ++request;
    }
    before[i] = request;
  }
  return before;
}

}  // namespace

RequestStream StreamOf(const OutlinedTrace& outlined) {
  const Trace& trace = outlined.trace;
  RequestStream stream;
  for (uint32_t i = 0; i < trace.events.size(); ++i) {
    AddEvent(trace, i, stream);
  }
  stream.streams = trace.streams;
  stream.block_count = static_cast<uint32_t>(trace.blocks.size());
  const std::vector<uint32_t> before = RequestsBefore(trace, stream);
  for (const OuterCall& call : FindOuterCalls(outlined)) {
    const RequestRange range{before[call.begin_event], before[call.end_event]};
    if (!call.is_convolution || range.begin == range.end) continue;
    stream.calls.push_back({.requests = range, .is_convolution = true});
  }
  return stream;
}

RequestStream StreamOf(const Trace& trace) {
  PathTable paths;
  const Outline outline = MakeOutline(trace, paths);
  return StreamOf(OutlinedTrace{trace, outline});
}

}  // namespace memplan
