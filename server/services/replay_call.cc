#include "server/services/replay_call.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "planner/allocator/replay.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/replay_from_proto.h"
#include "server/convert/replay_to_proto.h"
#include "server/services/trace_chunks.h"

namespace memplan {
namespace {

// Of a replay that could not be done.
absl::Status NotReplayed(const absl::Status& status) {
  if (absl::IsFailedPrecondition(status)) {
    return WithReason(status, "RECORDED_ADDRESSES_DO_NOT_FIT",
                      "header.addresses");
  }
  return WithReason(status, "INVALID_REPLAY", "trace_chunk");
}

}  // namespace

absl::Status ReplayCall::Take(v1::ReplayRequest& request) {
  switch (request.part_case()) {
    case v1::ReplayRequest::kHeader:
      return TakeHeader(*request.mutable_header());
    case v1::ReplayRequest::kTraceChunk:
      if (!header_) {
        return RefusedReplay(
            "a chunk came before the header; send the header first",
            "trace_chunk");
      }
      return AppendTraceChunk(request.trace_chunk(), text_, received_);
    case v1::ReplayRequest::PART_NOT_SET:
      break;
  }
  return RefusedReplay("a message has a header or a chunk; this has none",
                       "part");
}

absl::Status ReplayCall::TakeHeader(v1::ReplayHeader& header) {
  if (header_) {
    return RefusedReplay("a second header came; a replay has one", "header");
  }
  header_ = std::move(header);
  MEMPLAN_ASSIGN_OR_RETURN(
      conditions_, ConditionsFromProto(header_->settings(), CapOf(*header_)));
  return absl::OkStatus();
}

absl::Status ReplayCall::Answer(v1::ReplayResponse& response) {
  if (!header_) {
    return RefusedReplay("the call ended without a header", "header");
  }
  const absl::StatusOr<Trace> trace = ReadTrace(text_);
  std::string().swap(text_);
  if (!trace.ok()) {
    return WithReason(trace.status(), "INVALID_REPLAY", "trace_chunk");
  }
  MEMPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<AddressSource> addresses,
                           AddressesFromProto(*header_, *trace));
  const absl::StatusOr<ReplayReport> report =
      ReplayTrace(*trace, conditions_, *addresses);
  if (!report.ok()) return NotReplayed(report.status());
  response = ToProto(*report, static_cast<int64_t>(trace->events.size()));
  return absl::OkStatus();
}

}  // namespace memplan
