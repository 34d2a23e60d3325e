#include "server/services/trace_chunks.h"

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "planner/trace/text_format.h"
#include "server/base/reason.h"
#include "server/convert/recorded_trace.h"

namespace memplan {

absl::Status AppendTraceChunk(const std::string& chunk, std::string& text,
                              Bytes& total) {
  const Bytes size(static_cast<int64_t>(chunk.size()));
  if (chunk.empty() || size > kMaxTraceChunk) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat(
            "a trace chunk of ", chunk.size(),
            " bytes; a chunk has 1 byte to 1 MiB, send the trace in more")),
        "INVALID_REPLAY", "trace_chunk");
  }
  if (total + size > kMaxCallTraceBytes) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          "the traces of this call are above ",
                          FormatBytes(kMaxCallTraceBytes),
                          "; record fewer steps, or replay them one by one")),
                      "TRACE_TOO_LARGE", "trace_chunk");
  }
  text += chunk;
  total = total + size;
  return absl::OkStatus();
}

absl::StatusOr<Trace> ReadTrace(const std::string& bytes) {
  return IsRecordedTrace(bytes) ? ReadRecordedTrace(bytes)
                                : ReadTraceText(bytes);
}

}  // namespace memplan
