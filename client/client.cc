#include "client/client.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/channel.h"
#include "client/comeback.h"
#include "client/errors.h"
#include "client/waiting.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int kPageSize = 1000;  // the most a page holds
// A watch that was open for longer had reached a daemon.
constexpr milliseconds kSilentWatch = std::chrono::seconds(2);
// One call of WaitProbe; the daemon may answer sooner.
constexpr milliseconds kLongestWait = std::chrono::minutes(5);

void SetDeadline(grpc::ClientContext& context, milliseconds timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

}  // namespace

bool HasEnded(v1::ProbeState state) {
  return state == v1::PROBE_STATE_SUCCEEDED ||
         state == v1::PROBE_STATE_FAILED || state == v1::PROBE_STATE_CANCELLED;
}

Client::Client(ClientOptions options) : options_(std::move(options)) {
  const std::shared_ptr<grpc::Channel> channel =
      MakeChannel(options_.address, options_.tls);
  admission_ = v1::AdmissionService::NewStub(channel);
  models_ = v1::ModelService::NewStub(channel);
  devices_ = v1::DeviceService::NewStub(channel);
  plans_ = v1::PlanService::NewStub(channel);
  probes_ = v1::ProbeService::NewStub(channel);
  server_ = v1::ServerService::NewStub(channel);
}

Client::~Client() = default;

absl::Status Client::FromRpc(const grpc::Status& rpc) const {
  const absl::Status status = StatusFromRpc(rpc);
  if (!ErrorReason(status).empty()) return status;
  const std::string& target = options_.address.target;
  if (status.code() == absl::StatusCode::kUnavailable) {
    return absl::UnavailableError(absl::StrCat(
        "cannot reach the daemon at ", target, ": ", status.message(),
        "; start memplan-server or name another daemon with --address"));
  }
  if (status.code() == absl::StatusCode::kDeadlineExceeded) {
    return absl::DeadlineExceededError(
        absl::StrCat("the daemon at ", target, " did not answer within ",
                     absl::FormatDuration(absl::FromChrono(options_.timeout)),
                     "; look at its log, or wait longer with --timeout"));
  }
  return status;
}

void Client::SetSendDeadline(grpc::ClientContext& context,
                             int64_t bytes) const {
  SetDeadline(context, options_.timeout + std::chrono::seconds(bytes >> 20));
}

absl::StatusOr<v1::Model> Client::GetModel(const std::string& sha256) {
  v1::GetModelRequest request;
  request.set_sha256(sha256);
  MEMPLAN_ASSIGN_OR_RETURN(
      v1::GetModelResponse response,
      Call(*models_, &v1::ModelService::StubInterface::GetModel, request));
  return std::move(*response.mutable_model());
}

absl::StatusOr<v1::ListModelsResponse> Client::ListModels() {
  v1::ListModelsResponse all;
  v1::ListModelsRequest request;
  request.set_page_size(kPageSize);
  do {
    MEMPLAN_ASSIGN_OR_RETURN(
        v1::ListModelsResponse page,
        Call(*models_, &v1::ModelService::StubInterface::ListModels, request));
    request.set_page_token(page.next_page_token());
    all.mutable_models()->MergeFrom(page.models());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::DeleteModelResponse> Client::DeleteModel(
    const std::string& sha256) {
  v1::DeleteModelRequest request;
  request.set_sha256(sha256);
  return Call(*models_, &v1::ModelService::StubInterface::DeleteModel, request);
}

absl::StatusOr<v1::ListDevicesResponse> Client::ListDevices() {
  return Call(*devices_, &v1::DeviceService::StubInterface::ListDevices,
              v1::ListDevicesRequest());
}

absl::StatusOr<v1::ServerStatus> Client::GetServerStatus() {
  MEMPLAN_ASSIGN_OR_RETURN(
      v1::GetServerStatusResponse response,
      Call(*server_, &v1::ServerService::StubInterface::GetServerStatus,
           v1::GetServerStatusRequest()));
  return std::move(*response.mutable_status());
}

absl::StatusOr<v1::LogLevel> Client::SetLogLevel(v1::LogLevel level) {
  v1::SetLogLevelRequest request;
  request.set_level(level);
  MEMPLAN_ASSIGN_OR_RETURN(
      const v1::SetLogLevelResponse response,
      Call(*server_, &v1::ServerService::StubInterface::SetLogLevel, request));
  return response.previous();
}

absl::StatusOr<v1::Probe> Client::CreateProbe(const v1::ProbeSpec& spec,
                                              const std::string& request_id) {
  v1::CreateProbeRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(request_id);
  Comeback comeback(
      request_id.empty() ? milliseconds(0) : options_.reconnect_patience, {},
      {});
  for (;;) {
    auto response =
        Call(*probes_, &v1::ProbeService::StubInterface::CreateProbe, request);
    if (response.ok()) return std::move(*response->mutable_probe());
    if (!comeback.Await(response.status())) return response.status();
  }
}

absl::StatusOr<v1::Probe> Client::GetProbe(const std::string& id) {
  v1::GetProbeRequest request;
  request.set_id(id);
  MEMPLAN_ASSIGN_OR_RETURN(
      v1::GetProbeResponse response,
      Call(*probes_, &v1::ProbeService::StubInterface::GetProbe, request));
  return std::move(*response.mutable_probe());
}

absl::StatusOr<v1::ListProbesResponse> Client::ListProbes(int limit) {
  v1::ListProbesResponse all;
  v1::ListProbesRequest request;
  while (all.probes_size() < limit) {
    request.set_page_size(std::min(limit - all.probes_size(), kPageSize));
    MEMPLAN_ASSIGN_OR_RETURN(
        v1::ListProbesResponse page,
        Call(*probes_, &v1::ProbeService::StubInterface::ListProbes, request));
    request.set_page_token(page.next_page_token());
    all.mutable_probes()->MergeFrom(page.probes());
    if (request.page_token().empty()) break;
  }
  return all;
}

absl::StatusOr<v1::Probe> Client::CancelProbe(const std::string& id) {
  v1::CancelProbeRequest request;
  request.set_id(id);
  MEMPLAN_ASSIGN_OR_RETURN(
      v1::CancelProbeResponse response,
      Call(*probes_, &v1::ProbeService::StubInterface::CancelProbe, request));
  return std::move(*response.mutable_probe());
}

absl::Status Client::WatchOnce(const std::string& id,
                               const WatchObserver& observer,
                               const std::stop_token& stop,
                               std::optional<v1::Probe>& latest) {
  grpc::ClientContext context;
  std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::WatchProbeRequest request;
  request.set_id(id);
  request.set_after_version(latest ? latest->version() : 0);
  const auto reader = probes_->WatchProbe(&context, request);
  v1::WatchProbeResponse message;
  while (reader->Read(&message)) {
    latest = std::move(*message.mutable_probe());
    if (observer.on_change) observer.on_change(*latest);
  }
  return FromRpc(reader->Finish());
}

absl::StatusOr<v1::Probe> Client::WatchProbe(const std::string& id,
                                             const WatchObserver& observer,
                                             const std::stop_token& stop) {
  std::optional<v1::Probe> latest;
  Comeback comeback(options_.reconnect_patience, observer.on_lost, stop);
  const WatchObserver telling = {.on_change = [&](const v1::Probe& probe) {
    if (comeback.Heard() && observer.on_back) observer.on_back();
    if (observer.on_change) observer.on_change(probe);
  }};
  for (;;) {
    const SteadyClock::time_point begun = SteadyClock::now();
    const absl::Status status = WatchOnce(id, telling, stop, latest);
    if (latest.has_value() && HasEnded(latest->state())) {
      return *std::move(latest);
    }
    if (stop.stop_requested()) return StoppedByCaller();
    if (status.ok()) {
      return absl::InternalError(absl::StrCat("the daemon ended the watch of ",
                                              id, " before the probe's end"));
    }
    // A daemon never heard from is not waited for; one that kept the call open
    // for a while was there, though it had nothing new to send.
    if (!latest.has_value()) return status;
    if (SteadyClock::now() - begun > kSilentWatch) comeback.Heard();
    if (!comeback.Await(status)) {
      return stop.stop_requested() ? StoppedByCaller() : status;
    }
  }
}

absl::StatusOr<v1::Probe> Client::WaitOnce(const std::string& id,
                                           milliseconds patience,
                                           const std::stop_token& stop) {
  grpc::ClientContext context;
  std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const milliseconds wait = std::min(patience, kLongestWait);
  SetDeadline(context, wait + options_.timeout);
  v1::WaitProbeRequest request;
  request.set_id(id);
  *request.mutable_timeout() =
      google::protobuf::util::TimeUtil::MillisecondsToDuration(wait.count());
  v1::WaitProbeResponse response;
  MEMPLAN_RETURN_IF_ERROR(
      FromRpc(probes_->WaitProbe(&context, request, &response)));
  return std::move(*response.mutable_probe());
}

absl::StatusOr<v1::Probe> Client::WaitProbe(const std::string& id,
                                            milliseconds patience,
                                            const WatchObserver& observer,
                                            const std::stop_token& stop) {
  const SteadyClock::time_point end = SteadyClock::now() + patience;
  Comeback comeback(options_.reconnect_patience, observer.on_lost, stop);
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - SteadyClock::now());
    const absl::StatusOr<v1::Probe> probe =
        WaitOnce(id, std::max(left, milliseconds(0)), stop);
    if (stop.stop_requested()) return StoppedByCaller();
    if (probe.ok()) {
      if (comeback.Heard() && observer.on_back) observer.on_back();
      if (HasEnded(probe->state()) || SteadyClock::now() >= end) return probe;
    } else if (!comeback.Await(probe.status())) {
      return stop.stop_requested() ? StoppedByCaller() : probe.status();
    }
  }
}

}  // namespace memplan
