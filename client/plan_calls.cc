// The client's calls of PlanService: they send traces in chunks.
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "client/client.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

// Bytes of a trace's piece; the daemon takes up to 1 MiB.
constexpr size_t kTraceChunkBytes = size_t{512} * 1024;

// An open call that sends. What the daemon refuses shows in its end.
template <typename Request>
class TraceWriter {
 public:
  explicit TraceWriter(std::unique_ptr<grpc::ClientWriterInterface<Request>> to)
      : to_(std::move(to)) {}

  void Write(const Request& request) { open_ = open_ && to_->Write(request); }

  void WriteText(std::string_view text) {
    Request request;
    while (open_ && !text.empty()) {
      const size_t size = std::min(text.size(), kTraceChunkBytes);
      request.set_trace_chunk(text.data(), size);
      Write(request);
      text.remove_prefix(size);
    }
  }

  grpc::Status Finish() {
    if (open_) to_->WritesDone();
    return to_->Finish();
  }

 private:
  std::unique_ptr<grpc::ClientWriterInterface<Request>> to_;
  bool open_ = true;
};

}  // namespace

absl::StatusOr<v1::ReplayResponse> Client::Replay(
    const v1::ReplayHeader& header, std::string_view trace) {
  grpc::ClientContext context;
  SetSendDeadline(context, static_cast<int64_t>(trace.size()));
  v1::ReplayResponse response;
  TraceWriter<v1::ReplayRequest> writer(plans_->Replay(&context, &response));
  v1::ReplayRequest request;
  *request.mutable_header() = header;
  writer.Write(request);
  writer.WriteText(trace);
  MEMPLAN_RETURN_IF_ERROR(FromRpc(writer.Finish()));
  return response;
}

absl::StatusOr<v1::EstimateResponse> Client::Estimate(
    const v1::EstimateHeader& header, std::span<const BatchTrace> traces) {
  grpc::ClientContext context;
  int64_t bytes = 0;
  for (const BatchTrace& trace : traces) {
    bytes += static_cast<int64_t>(trace.text.size());
  }
  SetSendDeadline(context, bytes);
  v1::EstimateResponse response;
  TraceWriter<v1::EstimateRequest> writer(
      plans_->Estimate(&context, &response));
  v1::EstimateRequest request;
  *request.mutable_header() = header;
  writer.Write(request);
  for (const BatchTrace& trace : traces) {
    request.mutable_trace()->set_batch(trace.batch);
    writer.Write(request);
    writer.WriteText(trace.text);
  }
  MEMPLAN_RETURN_IF_ERROR(FromRpc(writer.Finish()));
  return response;
}

}  // namespace memplan
