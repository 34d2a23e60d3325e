#include "server/convert/admission_from_proto.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/enums.h"
#include "server/convert/times.h"

namespace memplan {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr size_t kHashDigits = 64;
constexpr size_t kMostDeviceBytes = 128;
constexpr size_t kMostHolderBytes = 128;
constexpr size_t kMostIdBytes = 64;
constexpr milliseconds kShortestLifetime{1000};
constexpr hours kLongestLifetime{24};

absl::StatusOr<Bytes> Amount(int64_t bytes, int64_t least,
                             const std::string& field) {
  if (bytes < least || bytes > kMostBytes.count()) {
    return RefusedAdmission(
        absl::StrCat("an amount is ", least, " to ", kMostBytes.count(),
                     " bytes (1 PiB), not ", bytes),
        field);
  }
  return Bytes(bytes);
}

bool IsHash(const std::string& text) {
  return text.size() == kHashDigits &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

bool IsPrintable(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

absl::StatusOr<ModelNeed> ModelFromProto(const v1::ModelNeed& model,
                                         const std::string& path) {
  if (!IsHash(model.model_sha256())) {
    return RefusedAdmission(
        "a model's name is its SHA-256, 64 lower-case "
        "hexadecimal digits",
        path + ".model_sha256");
  }
  if (model.batch() < 1) {
    return RefusedAdmission(
        absl::StrCat("a batch is at least 1, not ", model.batch()),
        path + ".batch");
  }
  ModelNeed need = {.model_sha256 = model.model_sha256(),
                    .batch = model.batch(),
                    .mode = {},
                    .optimizer = {},
                    .probe_id = model.probe_id()};
  if (model.mode() != v1::MODE_UNSPECIFIED) {
    need.mode = FromProto(model.mode());
    if (!need.mode) {
      return RefusedAdmission("this mode is not known", path + ".mode");
    }
  }
  if (model.optimizer() != v1::OPTIMIZER_UNSPECIFIED) {
    need.optimizer = FromProto(model.optimizer());
    if (!need.optimizer ||
        need.mode.value_or(gpu::Mode::kTrain) != gpu::Mode::kTrain) {
      return RefusedAdmission("an optimizer goes with MODE_TRAIN alone",
                              path + ".optimizer");
    }
  }
  return need;
}

absl::StatusOr<Placement> PlacementFromProto(v1::Placement placement,
                                             const std::string& field) {
  switch (placement) {
    case v1::PLACEMENT_UNSPECIFIED:
    case v1::PLACEMENT_BEST_FIT:
      return Placement::kBestFit;
    case v1::PLACEMENT_SPREAD:
      return Placement::kSpread;
    default:
      return RefusedAdmission("this placement is not known", field);
  }
}

absl::StatusOr<UnknownPolicy> PolicyFromProto(v1::UnknownPolicy policy,
                                              const std::string& field) {
  switch (policy) {
    case v1::UNKNOWN_POLICY_UNSPECIFIED:
    case v1::UNKNOWN_POLICY_REPORT:
      return UnknownPolicy::kReport;
    case v1::UNKNOWN_POLICY_NOT_NOW:
      return UnknownPolicy::kNotNow;
    case v1::UNKNOWN_POLICY_BY_LAST_KNOWN:
      return UnknownPolicy::kByLastKnown;
    default:
      return RefusedAdmission("this policy is not known", field);
  }
}

absl::StatusOr<absl::Duration> Lifetime(
    const google::protobuf::Duration& duration, const std::string& field) {
  const auto length = PositiveDuration(duration, kLongestLifetime);
  if (!length || *length < kShortestLifetime) {
    return RefusedAdmission("a lifetime is 1 s to a day", field);
  }
  return absl::FromChrono(*length);
}

}  // namespace

absl::Status RefusedAdmission(const std::string& message,
                              const std::string& field) {
  return WithReason(absl::InvalidArgumentError(message), "INVALID_ADMISSION",
                    field);
}

absl::StatusOr<JobSpec> JobFromProto(const v1::Job& job,
                                     const std::string& path) {
  JobSpec spec;
  switch (job.need_case()) {
    case v1::Job::kBytes: {
      MEMPLAN_ASSIGN_OR_RETURN(spec.need,
                               Amount(job.bytes(), 1, path + ".bytes"));
      break;
    }
    case v1::Job::kModel: {
      MEMPLAN_ASSIGN_OR_RETURN(spec.need,
                               ModelFromProto(job.model(), path + ".model"));
      break;
    }
    case v1::Job::NEED_NOT_SET:
      return RefusedAdmission(
          "a job says what it takes: bytes, or a model and a batch", path);
  }
  if (job.device_id().size() > kMostDeviceBytes) {
    return RefusedAdmission("no device has such a long name",
                            path + ".device_id");
  }
  spec.device = job.device_id();
  MEMPLAN_ASSIGN_OR_RETURN(
      spec.placement, PlacementFromProto(job.placement(), path + ".placement"));
  if (job.has_headroom_bytes()) {
    MEMPLAN_ASSIGN_OR_RETURN(spec.headroom, Amount(job.headroom_bytes(), 0,
                                                   path + ".headroom_bytes"));
  }
  if (job.has_max_staleness()) {
    const auto age = PositiveDuration(job.max_staleness(), hours(24));
    if (!age) {
      return RefusedAdmission(
          "a reading's age is more than 0 and at most a "
          "day",
          path + ".max_staleness");
    }
    spec.max_age = absl::FromChrono(*age);
  }
  MEMPLAN_ASSIGN_OR_RETURN(
      spec.unknown,
      PolicyFromProto(job.unknown_policy(), path + ".unknown_policy"));
  return spec;
}

absl::StatusOr<ReserveSpec> ReserveFromProto(const v1::ReserveRequest& request,
                                             const std::string& path) {
  ReserveSpec spec;
  MEMPLAN_ASSIGN_OR_RETURN(spec.job, JobFromProto(request.job(), path + "job"));
  if (request.has_lifetime()) {
    MEMPLAN_ASSIGN_OR_RETURN(spec.lifetime,
                             Lifetime(request.lifetime(), path + "lifetime"));
  }
  if (request.holder().size() > kMostHolderBytes ||
      !IsPrintable(request.holder())) {
    return RefusedAdmission(
        absl::StrCat("a holder is at most ", kMostHolderBytes,
                     " bytes without control characters"),
        path + "holder");
  }
  if (request.request_id().size() > kMostIdBytes) {
    return RefusedAdmission(absl::StrCat("an id has at most ", kMostIdBytes,
                                         " bytes: a UUID is enough"),
                            path + "request_id");
  }
  spec.holder = request.holder();
  spec.request_id = request.request_id();
  return spec;
}

absl::StatusOr<absl::Duration> LifetimeFromProto(
    const v1::RenewRequest& renew) {
  if (!renew.has_lifetime()) return absl::ZeroDuration();
  return Lifetime(renew.lifetime(), "lifetime");
}

absl::StatusOr<std::optional<Bytes>> PromisedFromProto(
    const v1::RenewRequest& renew) {
  if (!renew.has_promised_bytes()) return std::optional<Bytes>();
  MEMPLAN_ASSIGN_OR_RETURN(const Bytes promised,
                           Amount(renew.promised_bytes(), 1, "promised_bytes"));
  return std::optional<Bytes>(promised);
}

absl::StatusOr<milliseconds> PatienceFromProto(
    const v1::WaitForMemoryRequest& request, milliseconds longest) {
  if (!request.has_timeout()) return longest;
  const google::protobuf::Duration& timeout = request.timeout();
  if (timeout.seconds() == 0 && timeout.nanos() == 0) return milliseconds(0);
  constexpr hours kMost{24 * 365};
  const auto patience = PositiveDuration(timeout, kMost);
  if (!patience) {
    return RefusedAdmission(
        "a wait is 0 seconds to a year; leave it out for the longest",
        "timeout");
  }
  return std::min(*patience, longest);
}

}  // namespace memplan
