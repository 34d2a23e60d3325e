#include "server/convert/rpc_status.h"

#include <array>
#include <optional>

#include "cuda/worker/messages/messages.h"
#include "google/rpc/error_details.pb.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

// Paths are ours and in ASCII.
constexpr size_t kMaxFieldBytes = 128;

// What can be tried again unchanged, and after how many seconds.
struct RetryDelay {
  std::string_view reason;
  int64_t seconds;
};
constexpr auto kRetryDelays = std::to_array<RetryDelay>({
    {"DEVICES_NOT_READ", 1},
    {"TOO_MANY_REPLAYS", 1},
    {"TOO_MANY_WATCHES", 1},
    {"TOO_MANY_UPLOADS", 1},
    {"UPLOAD_IN_PROGRESS", 1},
    {"UPLOAD_IDLE", 1},
    {"SERVER_BUSY", 1},
    {"TOO_MANY_CHECKS", 1},
    {"TOO_MANY_RESERVATIONS", 5},
    {"QUEUE_FULL", 10},
    {"SHUTTING_DOWN", 5},
});

std::optional<int64_t> RetrySeconds(std::string_view reason) {
  for (const RetryDelay& delay : kRetryDelays) {
    if (delay.reason == reason) return delay.seconds;
  }
  return std::nullopt;
}

// The reason of an error that was given none.
std::string_view FallbackReason(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "INVALID_REQUEST";
    case absl::StatusCode::kResourceExhausted:
      return "OUT_OF_RESOURCES";
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
      return "STORE_DAMAGED";
    case absl::StatusCode::kCancelled:
      return "CALL_CANCELLED";
    default:
      return "INTERNAL_ERROR";
  }
}

template <typename Detail>
void AddDetail(const Detail& detail, google::rpc::Status& status) {
  status.add_details()->PackFrom(detail);
}

void AddErrorInfo(const std::string& reason, google::rpc::Status& status) {
  google::rpc::ErrorInfo detail;
  detail.set_reason(reason);
  detail.set_domain(std::string(kErrorDomain));
  AddDetail(detail, status);
}

void AddBadRequest(const std::string& field, const std::string& words,
                   google::rpc::Status& status) {
  google::rpc::BadRequest detail;
  google::rpc::BadRequest::FieldViolation* violation =
      detail.add_field_violations();
  violation->set_field(field);
  violation->set_description(words);
  AddDetail(detail, status);
}

void AddRetryInfo(int64_t seconds, google::rpc::Status& status) {
  google::rpc::RetryInfo detail;
  detail.mutable_retry_delay()->set_seconds(seconds);
  AddDetail(detail, status);
}

void AddPreconditionFailure(const std::string& reason, const std::string& words,
                            google::rpc::Status& status) {
  google::rpc::PreconditionFailure detail;
  google::rpc::PreconditionFailure::Violation* violation =
      detail.add_violations();
  violation->set_type(reason);
  violation->set_description(words);
  AddDetail(detail, status);
}

void AddQuotaFailure(const std::string& reason, const std::string& words,
                     google::rpc::Status& status) {
  google::rpc::QuotaFailure detail;
  google::rpc::QuotaFailure::Violation* violation = detail.add_violations();
  violation->set_subject(reason);
  violation->set_description(words);
  AddDetail(detail, status);
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  std::string reason = ReasonOf(status);
  if (reason.empty()) reason = std::string(FallbackReason(status.code()));
  const std::string field = FieldOf(status).substr(0, kMaxFieldBytes);
  const std::string message(status.message());
  const std::string words = gpu::TrimmedMessage(message);

  google::rpc::Status rpc;
  rpc.set_code(static_cast<int32_t>(status.code()));
  rpc.set_message(field.empty() ? words
                                : gpu::TrimmedMessage(field + ": " + message));
  AddErrorInfo(reason, rpc);
  if (!field.empty()) AddBadRequest(field, words, rpc);
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    AddPreconditionFailure(reason, words, rpc);
  }
  if (status.code() == absl::StatusCode::kResourceExhausted) {
    AddQuotaFailure(reason, words, rpc);
  }
  if (const auto seconds = RetrySeconds(reason)) AddRetryInfo(*seconds, rpc);
  return rpc;
}

}  // namespace memplan
