// The text of a trace that comes in chunks, bounded.
#ifndef MEMPLAN_SERVER_SERVICES_TRACE_TEXT_H_
#define MEMPLAN_SERVER_SERVICES_TRACE_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "planner/base/bytes.h"

namespace memplan {

inline constexpr Bytes kMaxTraceChunk = MiB(1);
// The most text that one call may send, all its traces together.
inline constexpr Bytes kMaxCallTraceText = MiB(128);

// kInvalidArgument (INVALID_REPLAY) for an empty chunk or one above
// kMaxTraceChunk; kResourceExhausted (TRACE_TOO_LARGE) if `total`, the bytes of
// the call so far, would pass kMaxCallTraceText. `text` and `total` then stay.
absl::Status AppendTraceChunk(const std::string& chunk, std::string& text,
                              Bytes& total);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_TRACE_TEXT_H_
