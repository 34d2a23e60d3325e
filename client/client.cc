#include "client/client.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/channel.h"
#include "client/errors.h"
#include "client/model_file.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int kPageSize = 1000;  // the most a page holds
constexpr milliseconds kReconnectDelay = milliseconds(250);

void SetDeadline(grpc::ClientContext& context, milliseconds timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

void WaitUnlessStopped(milliseconds delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, delay, [] { return false; });
}

}  // namespace

bool HasEnded(v1::ProbeState state) {
  return state == v1::PROBE_STATE_SUCCEEDED ||
         state == v1::PROBE_STATE_FAILED || state == v1::PROBE_STATE_CANCELLED;
}

Client::Client(ClientOptions options) : options_(std::move(options)) {
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(options_.address);
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

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Client::Call(
    Stub& stub,
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                 Response*),
    const Request& request) {
  grpc::ClientContext context;
  SetDeadline(context, options_.timeout);
  Response response;
  MEMPLAN_RETURN_IF_ERROR(
      FromRpc((stub.*method)(&context, request, &response)));
  return response;
}

void Client::SetSendDeadline(grpc::ClientContext& context,
                             int64_t bytes) const {
  SetDeadline(context, options_.timeout + std::chrono::seconds(bytes >> 20));
}

absl::StatusOr<v1::UploadModelResponse> Client::UploadModel(
    const std::string& path, const std::string& display_name,
    const UploadProgress& progress, const std::stop_token& stop) {
  MEMPLAN_ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(path));
  v1::UploadHeader header;
  MEMPLAN_ASSIGN_OR_RETURN(*header.mutable_sha256(), file.Sha256(stop));
  header.set_total_bytes(file.size_bytes());
  header.set_display_name(display_name);
  v1::UploadModelResponse response;
  absl::StatusOr<v1::Model> stored = GetModel(header.sha256());
  if (stored.ok()) {
    *response.mutable_model() = *std::move(stored);
    response.set_already_stored(true);
    return response;
  }
  if (!absl::IsNotFound(stored.status())) return stored.status();
  const absl::Status sent = SendModel(file, header, progress, stop, response);
  if (sent.ok()) return response;
  // A stop is the caller's own doing, whatever gRPC makes of it.
  return stop.stop_requested() ? StoppedByCaller() : sent;
}

absl::Status Client::SendModel(ModelFile& file, const v1::UploadHeader& header,
                               const UploadProgress& progress,
                               const std::stop_token& stop,
                               v1::UploadModelResponse& response) {
  grpc::ClientContext context;
  SetSendDeadline(context, header.total_bytes());
  std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const auto writer = models_->UploadModel(&context, &response);
  v1::UploadModelRequest message;
  *message.mutable_header() = header;
  bool open = writer->Write(message);
  int64_t sent = 0;
  while (open && sent < header.total_bytes()) {
    v1::UploadChunk& chunk = *message.mutable_chunk();
    if (absl::Status read = file.Read(*chunk.mutable_data()); !read.ok()) {
      context.TryCancel();
      (void)writer->Finish();
      return read;
    }
    chunk.set_offset_bytes(sent);
    chunk.set_crc32(ChunkChecksum(chunk.data()));
    open = writer->Write(message);
    sent += static_cast<int64_t>(chunk.data().size());
    if (progress) progress(sent, header.total_bytes());
  }
  message.mutable_commit();
  if (open && writer->Write(message)) writer->WritesDone();
  return FromRpc(writer->Finish());
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
  MEMPLAN_ASSIGN_OR_RETURN(
      v1::CreateProbeResponse response,
      Call(*probes_, &v1::ProbeService::StubInterface::CreateProbe, request));
  return std::move(*response.mutable_probe());
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
  std::optional<SteadyClock::time_point> last_heard;
  bool lost = false;
  for (;;) {
    std::optional<v1::Probe> latest;
    const absl::Status status = WatchOnce(id, observer, stop, latest);
    if (latest.has_value()) {
      if (HasEnded(latest->state())) return *std::move(latest);
      last_heard = SteadyClock::now();
      lost = false;
    }
    if (stop.stop_requested()) return StoppedByCaller();
    if (status.ok()) {
      return absl::InternalError(absl::StrCat("the daemon ended the watch of ",
                                              id, " before the probe's end"));
    }
    // A daemon never heard from is not waited for.
    if (!absl::IsUnavailable(status) || !last_heard.has_value() ||
        SteadyClock::now() - *last_heard >= options_.reconnect_patience) {
      return status;
    }
    if (!lost && observer.on_lost) observer.on_lost(status);
    lost = true;
    WaitUnlessStopped(kReconnectDelay, stop);
  }
}

}  // namespace memplan
