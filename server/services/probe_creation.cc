#include "server/services/probe_creation.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/log.h"
#include "server/base/reason.h"
#include "server/convert/probe_to_proto.h"
#include "server/convert/spec_from_proto.h"
#include "server/services/device_service.h"
#include "server/services/refusals.h"

namespace memplan {
namespace {

constexpr size_t kMaxRequestIdBytes = 64;

using SnapshotOr = absl::StatusOr<std::shared_ptr<const DeviceSnapshot>>;

absl::Status CheckRequestId(const std::string& request_id) {
  if (request_id.size() <= kMaxRequestIdBytes) return absl::OkStatus();
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "the id has ", request_id.size(), " bytes; at most ",
                        kMaxRequestIdBytes, " are taken: a UUID is enough")),
                    "INVALID_REQUEST", "request_id");
}

}  // namespace

ProbeCreation::ProbeCreation(const ProbeSupport& support, UnaryAnswer answer,
                             std::string call_id,
                             const v1::CreateProbeRequest& request,
                             v1::CreateProbeResponse& response)
    : support_(support),
      answer_(std::move(answer)),
      call_id_(std::move(call_id)),
      request_(request),
      response_(response) {}

absl::Status ProbeCreation::Start() {
  MEMPLAN_RETURN_IF_ERROR(CheckRequestId(request_.request_id()));
  MEMPLAN_ASSIGN_OR_RETURN(spec_, SpecFromProto(request_.spec()));
  support_.devices.WhenRead(
      spec_.device_id, kFirstReadingPatience,
      [self = shared_from_this()](const SnapshotOr& snapshot) {
        self->answer_.Continue([&] { return self->CheckDevice(snapshot); });
      });
  return absl::OkStatus();
}

absl::Status ProbeCreation::CheckDevice(const SnapshotOr& snapshot) {
  MEMPLAN_RETURN_IF_ERROR(snapshot.status());
  MEMPLAN_RETURN_IF_ERROR(CheckAgainstDevices(spec_, **snapshot));
  const bool posted = support_.disk.Post([self = shared_from_this()] {
    self->answer_.Continue([&] { return self->CheckWorkerAndCreate(); });
  });
  return posted ? absl::OkStatus() : DiskBusy();
}

absl::Status ProbeCreation::CheckWorkerAndCreate() {
  MEMPLAN_RETURN_IF_ERROR(support_.runner.CheckUsable());
  support_.jobs.Create(
      std::move(spec_), request_.request_id(),
      [self = shared_from_this()](
          const absl::StatusOr<ProbeJobs::ProbePtr>& probe) {
        self->answer_.Finish([&] { return self->Answer(probe); });
      });
  return absl::OkStatus();
}

absl::Status ProbeCreation::Answer(
    const absl::StatusOr<ProbeJobs::ProbePtr>& probe) {
  if (!probe.ok()) return probe.status();
  *response_.mutable_probe() = ToProto(**probe);
  // The one line in which a call and what comes of it meet.
  const LogContext log({{"request_id", call_id_}, {"probe_id", (*probe)->id}});
  spdlog::info("the probe is taken");
  return absl::OkStatus();
}

}  // namespace memplan
