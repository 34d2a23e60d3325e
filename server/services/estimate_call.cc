#include "server/services/estimate_call.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/plan/shape_estimate.h"
#include "planner/trace/shape.h"
#include "planner/trace/symbolic_trace.h"
#include "server/base/reason.h"
#include "server/convert/estimate_to_proto.h"
#include "server/convert/replay_from_proto.h"
#include "server/services/trace_chunks.h"

namespace memplan {
namespace {

constexpr int64_t kMaxBatch = kMaxShapeValue;

absl::Status CheckBatch(int64_t batch, const std::string& field) {
  if (batch >= 1 && batch <= kMaxBatch) return absl::OkStatus();
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          "a batch of ", batch, " samples; it is 1 to ", kMaxBatch)),
      "INVALID_ESTIMATE", field);
}

Shape OfBatch(int64_t batch) { return {{.name = "batch", .value = batch}}; }

absl::Status Invalid(const absl::Status& status) {
  return WithReason(status, "INVALID_ESTIMATE");
}

}  // namespace

absl::Status EstimateCall::Take(v1::EstimateRequest& request) {
  if (!header_ && request.part_case() != v1::EstimateRequest::kHeader) {
    return RefusedReplay("the first message is no header; send it first",
                         "header");
  }
  switch (request.part_case()) {
    case v1::EstimateRequest::kHeader:
      return TakeHeader(*request.mutable_header());
    case v1::EstimateRequest::kTrace:
      return TakeTrace(request.trace().batch());
    case v1::EstimateRequest::kTraceChunk:
      return TakeChunk(request.trace_chunk());
    case v1::EstimateRequest::PART_NOT_SET:
      break;
  }
  return RefusedReplay(
      "a message has a header, a trace or a chunk; this has none", "part");
}

absl::Status EstimateCall::TakeHeader(v1::EstimateHeader& header) {
  if (header_) {
    return RefusedReplay("a second header came; an estimate has one", "header");
  }
  header_ = std::move(header);
  MEMPLAN_RETURN_IF_ERROR(CheckBatch(header_->batch(), "header.batch"));
  MEMPLAN_ASSIGN_OR_RETURN(
      conditions_, ConditionsFromProto(header_->settings(), CapOf(*header_)));
  return absl::OkStatus();
}

absl::Status EstimateCall::TakeTrace(int64_t batch) {
  MEMPLAN_RETURN_IF_ERROR(CheckBatch(batch, "trace.batch"));
  if (texts_.size() == kMaxRecordings) {
    return WithReason(absl::InvalidArgumentError(absl::StrCat(
                          "an estimate takes at most ", kMaxRecordings,
                          " traces; leave out those of small batches")),
                      "INVALID_ESTIMATE", "trace");
  }
  texts_.push_back({.batch = batch, .text = {}});
  return absl::OkStatus();
}

absl::Status EstimateCall::TakeChunk(const std::string& chunk) {
  if (texts_.empty()) {
    return RefusedReplay(
        "a chunk came before its trace; send the trace's batch first",
        "trace_chunk");
  }
  return AppendTraceChunk(chunk, texts_.back().text, received_);
}

absl::StatusOr<std::vector<Trace>> EstimateCall::ReadTraces() {
  std::vector<Trace> traces;
  traces.reserve(texts_.size());
  for (BatchText& text : texts_) {
    absl::StatusOr<Trace> trace = ReadTrace(text.text);
    std::string().swap(text.text);
    if (!trace.ok()) {
      return RefusedReplay(absl::StrCat("the trace of batch ", text.batch, ": ",
                                        trace.status().message()),
                           "trace_chunk");
    }
    traces.push_back(*std::move(trace));
  }
  return traces;
}

absl::Status EstimateCall::Answer(v1::EstimateResponse& response) {
  if (!header_) {
    return RefusedReplay("the call ended without a header", "header");
  }
  const Shape target = OfBatch(header_->batch());
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<Trace> traces, ReadTraces());
  std::vector<Recording> recordings;
  recordings.reserve(traces.size());
  for (size_t i = 0; i < traces.size(); ++i) {
    recordings.push_back(
        {.shape = OfBatch(texts_[i].batch), .trace = &traces[i]});
  }
  const absl::StatusOr<SymbolicTrace> symbolic = MakeSymbolicTrace(recordings);
  if (!symbolic.ok()) return Invalid(symbolic.status());
  const absl::StatusOr<ShapeEstimate> estimate =
      ShapeEstimator(*symbolic, conditions_).Estimate(target);
  if (!estimate.ok()) return Invalid(estimate.status());
  response = ToProto(*estimate, *symbolic);
  return absl::OkStatus();
}

}  // namespace memplan
