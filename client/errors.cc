#include "client/errors.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/rpc/error_details.pb.h"

namespace memplan {
namespace {

using google::rpc::BadRequest;
using google::rpc::ErrorInfo;
using google::rpc::PreconditionFailure;
using google::rpc::QuotaFailure;
using google::rpc::RetryInfo;

constexpr char kTypeUrlPrefix[] = "type.googleapis.com/";
constexpr char kUsagePayload[] = "memplan/usage";

// The flag of `probe` or `profile` that sets a field of CreateProbeRequest; the
// first prefix that matches counts.
constexpr std::array<std::pair<const char*, const char*>, 29> kFlagOfField = {{
    {"spec.model_sha256", "MODEL"},
    {"spec.device_id", "--device"},
    {"spec.inputs", "--input"},
    {"spec.dimensions", "--dim"},
    {"spec.mode", "--train, --infer or --infer-grad"},
    {"spec.optimizer", "--train"},
    {"spec.run_as", "--run-as"},
    {"spec.steps", "--steps"},
    {"spec.step.autocast", "--autocast"},
    {"spec.step.also_batches", "--also-batch"},
    {"spec.step.accumulation_steps", "--accumulate"},
    {"spec.step.zero_grad", "--zero-grad"},
    {"spec.step.evaluation_batch", "--evaluate-batch"},
    {"spec.step.loss_output", "--loss-output"},
    {"spec.step.loss_model_sha256", "--loss"},
    {"spec.step.targets", "--target"},
    {"spec.step.optimizer_implementation", "--train"},
    {"spec.step.cudnn", "--cudnn"},
    {"spec.cap_bytes", "--cap"},
    {"spec.budget_bytes", "--budget"},
    {"spec.limit", "--cap or --budget"},
    {"spec.profile.batches", "--batches"},
    {"spec.search.first_batch", "--first-batch"},
    {"spec.search.max_batch", "--max-batch"},
    {"spec.max_trials", "--max-trials"},
    {"spec.niceness", "--nice"},
    {"spec.only_when_idle", "--when-idle"},
    {"spec.time_limit", "--time-limit"},
    {"spec.trial_timeout", "--trial-timeout"},
}};

// The detail of type `Detail`, if `status` has one that can be read.
template <typename Detail>
std::optional<Detail> DetailOf(const absl::Status& status) {
  const auto payload = status.GetPayload(
      absl::StrCat(kTypeUrlPrefix, Detail::descriptor()->full_name()));
  Detail detail;
  if (!payload.has_value() || !detail.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return detail;
}

std::string FieldWithFlag(const std::string& field) {
  for (const auto& [prefix, flag] : kFlagOfField) {
    if (field.starts_with(prefix)) {
      return absl::StrCat(field, " (", flag, ")");
    }
  }
  return field;
}

// `  in SUBJECT: DESCRIPTION`, without what is empty or what `message` says; empty
// if nothing is left.
std::string DetailLine(const std::string& message, const std::string& subject,
                       const std::string& description) {
  const bool is_said = absl::StrContains(message, description);
  if (subject.empty()) return is_said ? "" : absl::StrCat("  ", description);
  return is_said ? absl::StrCat("  in ", subject)
                 : absl::StrCat("  in ", subject, ": ", description);
}

bool IsSmallControl(unsigned char c) { return c < 0x20 || c == 0x7f; }

}  // namespace

absl::Status StatusFromProto(const google::rpc::Status& status) {
  absl::Status result(static_cast<absl::StatusCode>(status.code()),
                      status.message());
  for (const google::protobuf::Any& detail : status.details()) {
    result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return result;
}

absl::Status StatusFromRpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) details.Clear();
  details.set_code(static_cast<int>(status.error_code()));
  details.set_message(status.error_message());
  return StatusFromProto(details);
}

absl::Status UsageError(const std::string& message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord("1"));
  return status;
}

absl::Status StoppedByCaller() {
  return absl::CancelledError("stopped by the caller");
}

std::string ErrorReason(const absl::Status& status) {
  const std::optional<ErrorInfo> why = DetailOf<ErrorInfo>(status);
  return why.has_value() ? why->reason() : "";
}

std::string ErrorText(const absl::Status& status) {
  const std::string message(status.message());
  std::vector<std::string> lines = {
      message.empty() ? absl::StatusCodeToString(status.code()) : message};
  if (const auto request = DetailOf<BadRequest>(status)) {
    for (const auto& violation : request->field_violations()) {
      lines.push_back(DetailLine(message, FieldWithFlag(violation.field()),
                                 violation.description()));
    }
  }
  if (const auto failure = DetailOf<PreconditionFailure>(status)) {
    for (const auto& violation : failure->violations()) {
      lines.push_back(
          DetailLine(message, violation.subject(), violation.description()));
    }
  }
  if (const auto failure = DetailOf<QuotaFailure>(status)) {
    for (const auto& violation : failure->violations()) {
      lines.push_back(
          DetailLine(message, violation.subject(), violation.description()));
    }
  }
  if (const auto retry = DetailOf<RetryInfo>(status)) {
    lines.push_back(absl::StrCat("  try again in ",
                                 retry->retry_delay().seconds() +
                                     (retry->retry_delay().nanos() > 0 ? 1 : 0),
                                 " s"));
  }
  if (const std::string reason = ErrorReason(status); !reason.empty()) {
    lines.push_back(absl::StrCat("  reason ", reason));
  }
  std::erase(lines, "");
  return PrintableText(absl::StrJoin(lines, "\n"));
}

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kInvalidArgument:
      return status.GetPayload(kUsagePayload).has_value() ? kExitUsage
                                                          : kExitError;
    case absl::StatusCode::kUnavailable: {
      // With a reason of its own the daemon did answer.
      const std::string reason = ErrorReason(status);
      return reason.empty() || reason == "SHUTTING_DOWN" ? kExitUnreachable
                                                         : kExitError;
    }
    case absl::StatusCode::kDeadlineExceeded:
      return ErrorReason(status).empty() ? kExitUnreachable : kExitError;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitNoPermission;
    default:
      return kExitError;
  }
}

std::string PrintableText(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // The controls U+0080 to U+009F are C2 80 to C2 9F in UTF-8.
    if (c == 0xc2 && i + 1 < text.size() &&
        static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      ++i;
      continue;
    }
    if (c == '\t') {
      printable.push_back(' ');
    } else if (!IsSmallControl(c) || c == '\n') {
      printable.push_back(text[i]);
    }
  }
  return printable;
}

}  // namespace memplan
