// A trace's text from a file or standard input, unpacked if it is an .xz stream
// (told by its first bytes, not by its name). Nothing here knows what the text
// says.
#ifndef MEMPLAN_CLIENT_TRACE_FILE_TRACE_FILE_H_
#define MEMPLAN_CLIENT_TRACE_FILE_TRACE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "planner/base/bytes.h"

namespace memplan {

// The largest text that is read unless told otherwise, unpacked.
inline constexpr Bytes kMaxTraceText = GiB(1);

// Reads the file at `path` to its end; "-" is standard input. The message of an
// error has the path. kNotFound, kPermissionDenied; kInvalidArgument for a
// folder; kDataLoss for an .xz stream that is damaged or cut off;
// kResourceExhausted for a text above `limit`.
absl::StatusOr<std::string> ReadTraceFile(const std::string& path,
                                          Bytes limit = kMaxTraceText);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_TRACE_FILE_TRACE_FILE_H_
