// A trace that comes in chunks, bounded: its text, or as a worker recorded it.
#ifndef MEMPLAN_SERVER_SERVICES_TRACE_CHUNKS_H_
#define MEMPLAN_SERVER_SERVICES_TRACE_CHUNKS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/base/bytes.h"
#include "planner/trace/trace.h"

namespace memplan {

inline constexpr Bytes kMaxTraceChunk = MiB(1);
// The most text that one call may send, all its traces together.
inline constexpr Bytes kMaxCallTraceBytes = MiB(128);

// kInvalidArgument (INVALID_REPLAY) for an empty chunk or one above
// kMaxTraceChunk; kResourceExhausted (TRACE_TOO_LARGE) if `total`, the bytes of
// the call so far, would pass kMaxCallTraceBytes. `text` and `total` then stay.
absl::Status AppendTraceChunk(const std::string& chunk, std::string& text,
                              Bytes& total);

// Reads either form. kInvalidArgument with the line or record and why.
absl::StatusOr<Trace> ReadTrace(const std::string& bytes);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_TRACE_CHUNKS_H_
