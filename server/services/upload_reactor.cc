#include "server/services/upload_reactor.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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
                             const grpc::CallbackServerContext& context,
                             v1::UploadModelResponse* response)
    : support_(support), response_(response) {
  auto place = support_.places.Take(ClientOf(context));
  if (place.ok()) {
    place_ = *std::move(place);
    ReadOn();
    const std::lock_guard lock(mutex_);
    LookAgainAt(reading_since_ + support_.idle_timeout);
  } else {
    End(place.status());
  }
  // gRPC holds what was started back until the handler returns.
  baton_.Pass();
}

void UploadReactor::OnReadDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(reading_, false)) return;  // given up: the call's end
  }
  baton_.Take();
  Post(ok ? &UploadReactor::TakeMessage : &UploadReactor::BreakOff);
}

void UploadReactor::LookForSilence() {
  {
    const std::lock_guard lock(mutex_);
    const Timers::Time now = std::chrono::steady_clock::now();
    const Timers::Time end =
        (reading_ ? reading_since_ : now) + support_.idle_timeout;
    if (now < end) return LookAgainAt(end);
    reading_ = false;
  }
  baton_.Take();
  Post(&UploadReactor::GiveUp);
}

void UploadReactor::LookAgainAt(Timers::Time time) {
  if (done_) return;
  timer_ = support_.timers.Set(time, [this] { LookForSilence(); });
}

void UploadReactor::Post(void (UploadReactor::*step)()) {
  if (!support_.disk.Post([this, step] { (this->*step)(); })) End(DiskBusy());
}

void UploadReactor::TakeMessage() {
  const absl::Status taken = Guarded([this] { return Take(); });
  if (!taken.ok() || request_.has_commit()) {
    End(taken);
  } else if (request_.has_header()) {
    CatchUp();
  } else {
    ReadOn();
  }
}

void UploadReactor::CatchUp() {
  bool more = false;
  const absl::Status status = Guarded([this, &more]() -> absl::Status {
    MEMPLAN_ASSIGN_OR_RETURN(more, upload_->CatchUp());
    return absl::OkStatus();
  });
  if (!status.ok()) {
    End(status);
  } else if (more) {
    Post(&UploadReactor::CatchUp);
  } else {
    ReadOn();
  }
}

void UploadReactor::BreakOff() {
  outcome_ = UploadOutcome::kBrokenOff;
  End(Truncated());
}

void UploadReactor::GiveUp() {
  outcome_ = UploadOutcome::kBrokenOff;
  End(Silent());
}

void UploadReactor::OnDone() {
  baton_.Take();
  Timers::Id timer;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    timer = timer_;
  }
  support_.timers.Cancel(timer);  // waits for one that is running
  baton_.Take();                  // and what that one passed on
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
  return upload_->Append(chunk.offset_bytes(), chunk.data(), chunk.crc32());
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
  outcome_ =
      already_stored ? UploadOutcome::kAlreadyStored : UploadOutcome::kStored;
  return absl::OkStatus();
}

absl::Status UploadReactor::Truncated() const {
  const int64_t kept = upload_ == nullptr ? 0 : upload_->committed_bytes();
  return WithReason(
      absl::DataLossError(absl::StrCat(
          "the upload ended after ", kept,
          " bytes without a commit; they are kept: go on from there")),
      "UPLOAD_TRUNCATED");
}

absl::Status UploadReactor::Silent() const {
  const int64_t kept = upload_ == nullptr ? 0 : upload_->committed_bytes();
  return WithReason(
      absl::UnavailableError(absl::StrCat(
          "no message of the upload came for ",
          absl::FormatDuration(absl::FromChrono(support_.idle_timeout)),
          ", so that its place went to others; ", kept,
          " bytes are kept: go on from there")),
      "UPLOAD_IDLE");
}

void UploadReactor::ReadOn() {
  baton_.Pass();
  const std::lock_guard lock(mutex_);
  reading_ = true;
  reading_since_ = std::chrono::steady_clock::now();
  StartRead(&request_);
}

void UploadReactor::End(const absl::Status& status) {
  upload_ = nullptr;
  place_ = Place();
  support_.counts.Add(outcome_);
  baton_.Pass();
  Finish(ToGrpcStatus(status));
}

}  // namespace memplan
