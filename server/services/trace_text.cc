#include "server/services/trace_text.h"

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "server/base/reason.h"

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
  if (total + size > kMaxCallTraceText) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          "the traces of this call are above ",
                          FormatBytes(kMaxCallTraceText),
                          "; record fewer steps, or replay them one by one")),
                      "TRACE_TOO_LARGE", "trace_chunk");
  }
  text += chunk;
  total = total + size;
  return absl::OkStatus();
}

}  // namespace memplan
