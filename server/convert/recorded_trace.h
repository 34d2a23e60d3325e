// Traces as workers record them (cuda/worker/messages/trace_layout.h) and the
// store keeps them, as the planner's traces. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_RECORDED_TRACE_H_
#define MEMPLAN_SERVER_CONVERT_RECORDED_TRACE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "planner/trace/trace.h"

namespace memplan {

// Whether `bytes` begin as a recorded trace does.
bool IsRecordedTrace(std::string_view bytes);

// Reads the bytes of a whole file. kInvalidArgument, with the record's index, for
// what no worker writes; kDataLoss for a trace that lost records, since its frees
// and peaks would not be true.
absl::StatusOr<Trace> ReadRecordedTrace(std::string_view bytes);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_RECORDED_TRACE_H_
