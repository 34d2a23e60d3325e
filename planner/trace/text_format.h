// A trace as text: one event a line, fields apart by tabs, addresses and stream
// handles in hex without 0x.
//
//   M name                 a phase begins
//   O depth op             an operator begins, at this nesting depth
//   G overload argument…   the signature of the operator of the line before
//                          (signature_text.h)
//   S bytes addr           a segment came from the driver
//   U bytes addr           … and went back
//   P bytes addr           a piece of an expandable segment was mapped
//   Q bytes addr           … and unmapped
//   A bytes addr op        a block was handed out: bytes as requested
//   F addr                 its free was asked for (optional)
//   D addr                 its free is complete
//   X bytes op             a request failed
//   E                      the program called emptyCache
//
// A, S, U, P, Q and X may end with the field stream=HANDLE; without it they are
// of the default stream. A and X may end with depth=N, the depth of the operator
// that asked; without it the innermost open operator of that name is meant.
#ifndef MEMPLAN_PLANNER_TRACE_TEXT_FORMAT_H_
#define MEMPLAN_PLANNER_TRACE_TEXT_FORMAT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/trace/trace.h"

namespace memplan {

// kInvalidArgument, beginning with the line's number and the event's index, if a
// line cannot be read or cannot be true after those before (TraceBuilder).
absl::StatusOr<Trace> ReadTraceText(std::string_view text);

// What ReadTraceText reads back as an equal trace, if `trace` was built by a
// TraceBuilder.
std::string WriteTraceText(const Trace& trace);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_TEXT_FORMAT_H_
