#include "server/services/upload_reactor.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/model_to_proto.h"
#include "server/services/refusals.h"
#include "server/services/rich_status.h"

namespace memplan {
namespace {

absl::Status OutOfTurn(const char* message, const char* field) {
  return WithReason(absl::InvalidArgumentError(message), "INVALID_UPLOAD",
                    field);
}

}  // namespace

UploadReactor::UploadReactor(UploadSupport& support,
                             v1::UploadModelResponse* response)
    : support_(support), response_(response) {
  if (++support_.uploads > support_.max_uploads) {
    End(WithReason(absl::ResourceExhaustedError(absl::StrCat(
                       support_.max_uploads,
                       " uploads are in progress, the most there may be; try "
                       "again when one has ended")),
                   "TOO_MANY_UPLOADS"));
  } else {
    ReadOn();
  }
  // gRPC holds what was started back until the handler returns.
  baton_.Pass();
}

void UploadReactor::OnReadDone(bool ok) {
  baton_.Take();
  if (!support_.disk.Post([this, ok] { Step(ok); })) End(DiskBusy());
}

void UploadReactor::Step(bool ok) {
  const absl::Status taken =
      Guarded([this, ok] { return ok ? Take() : Truncated(); });
  if (!taken.ok() || committed_) {
    End(taken);
  } else {
    ReadOn();
  }
}

void UploadReactor::OnDone() {
  baton_.Take();
  delete this;
}

absl::Status UploadReactor::Take() {
  switch (request_.part_case()) {
    case v1::UploadModelRequest::kHeader:
      return TakeHeader(request_.header());
    case v1::UploadModelRequest::kChunk:
      return TakeChunk(request_.chunk());
    case v1::UploadModelRequest::kCommit:
      return Commit();
    case v1::UploadModelRequest::PART_NOT_SET:
      break;
  }
  return OutOfTurn("a message has a header, a chunk or a commit; this has none",
                   "part");
}

absl::Status UploadReactor::TakeHeader(const v1::UploadHeader& header) {
  if (upload_ != nullptr) {
    return OutOfTurn("a second header came; an upload has one, then chunks",
                     "header");
  }
  MEMPLAN_ASSIGN_OR_RETURN(upload_, support_.models.BeginUpload(
                                        header.sha256(), header.total_bytes(),
                                        header.display_name()));
  return absl::OkStatus();
}

absl::Status UploadReactor::TakeChunk(const v1::UploadChunk& chunk) {
  if (upload_ == nullptr) {
    return OutOfTurn("a chunk came before the header; send the header first",
                     "chunk");
  }
  MEMPLAN_RETURN_IF_ERROR(
      upload_->Append(chunk.offset_bytes(), chunk.data(), chunk.crc32()));
  received_bytes_ += static_cast<int64_t>(chunk.data().size());
  return absl::OkStatus();
}

absl::Status UploadReactor::Commit() {
  if (upload_ == nullptr) {
    return OutOfTurn("a commit came before the header; send the header first",
                     "commit");
  }
  const bool already_stored = upload_->already_stored();
  MEMPLAN_ASSIGN_OR_RETURN(const Model model, upload_->Commit());
  *response_->mutable_model() = ToProto(model);
  response_->set_already_stored(already_stored);
  committed_ = true;
  return absl::OkStatus();
}

absl::Status UploadReactor::Truncated() const {
  return WithReason(
      absl::DataLossError(absl::StrCat(
          "the upload ended after ", received_bytes_,
          " bytes without a commit; nothing is kept, upload the model again")),
      "UPLOAD_TRUNCATED");
}

void UploadReactor::ReadOn() {
  baton_.Pass();
  StartRead(&request_);
}

void UploadReactor::End(const absl::Status& status) {
  upload_ = nullptr;  // removes what was written of an upload that failed
  --support_.uploads;
  baton_.Pass();
  Finish(ToGrpcStatus(status));
}

}  // namespace memplan
