#include "tests/client/fake_daemon.h"

#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace memplan::testing {
namespace {

bool ChecksumIsRight(const v1::UploadChunk& chunk) {
  return crc32(0, reinterpret_cast<const Bytef*>(chunk.data().data()),
               static_cast<uInt>(chunk.data().size())) == chunk.crc32();
}

// Blocks until the client has ended the call.
void WaitForCancel(const grpc::ServerContext& context) {
  while (!context.IsCancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

grpc::Status RichError(grpc::StatusCode code, const std::string& message,
                       const std::string& reason, const std::string& field) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  google::rpc::ErrorInfo why;
  why.set_reason(reason);
  why.set_domain("memplan.v1");
  status.add_details()->PackFrom(why);
  if (!field.empty()) {
    google::rpc::BadRequest request;
    auto& violation = *request.add_field_violations();
    violation.set_field(field);
    violation.set_description(message);
    status.add_details()->PackFrom(request);
  }
  return {code, message, status.SerializeAsString()};
}

grpc::Status FakeModelService::BreakOff(const v1::UploadHeader& header) {
  const grpc::Status status = upload_breaks.front();
  upload_breaks.pop_front();
  v1::Model& model = models[header.sha256()];
  model.set_sha256(header.sha256());
  model.set_state(v1::MODEL_STATE_UPLOADING);
  model.set_size_bytes(header.total_bytes());
  model.set_committed_bytes(
      static_cast<int64_t>(contents[header.sha256()].size()));
  return status;
}

grpc::Status FakeModelService::UploadModel(
    grpc::ServerContext* /*context*/,
    grpc::ServerReader<v1::UploadModelRequest>* reader,
    v1::UploadModelResponse* response) {
  v1::UploadModelRequest message;
  if (!reader->Read(&message) || !message.has_header()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "no header"};
  }
  const v1::UploadHeader header = message.header();
  std::string& content = contents[header.sha256()];
  for (bool first = true; reader->Read(&message) && message.has_chunk();
       first = false) {
    const v1::UploadChunk& chunk = message.chunk();
    if (first && chunk.offset_bytes() == 0) content.clear();
    if (!ChecksumIsRight(chunk) ||
        chunk.offset_bytes() != static_cast<int64_t>(content.size())) {
      return {grpc::StatusCode::DATA_LOSS, "bad chunk"};
    }
    chunk_sizes.push_back(chunk.data().size());
    content += chunk.data();
    if (!upload_breaks.empty()) return BreakOff(header);
  }
  if (!message.has_commit()) {
    return {grpc::StatusCode::DATA_LOSS, "no commit"};
  }
  v1::Model& model = models[header.sha256()];
  model.set_sha256(header.sha256());
  model.set_display_name(header.display_name());
  model.set_size_bytes(static_cast<int64_t>(content.size()));
  model.set_state(v1::MODEL_STATE_READY);
  *response->mutable_model() = model;
  return grpc::Status::OK;
}

grpc::Status FakeModelService::GetModel(grpc::ServerContext* /*context*/,
                                        const v1::GetModelRequest* request,
                                        v1::GetModelResponse* response) {
  if (unavailable_reads > 0) {
    --unavailable_reads;
    return {grpc::StatusCode::UNAVAILABLE, "starting"};
  }
  const auto found = models.find(request->sha256());
  if (found == models.end()) {
    return RichError(grpc::StatusCode::NOT_FOUND, "no such model",
                     "MODEL_NOT_FOUND");
  }
  *response->mutable_model() = found->second;
  return grpc::Status::OK;
}

grpc::Status FakeModelService::ListModels(grpc::ServerContext* /*context*/,
                                          const v1::ListModelsRequest* request,
                                          v1::ListModelsResponse* response) {
  auto next = request->page_token().empty()
                  ? models.begin()
                  : models.find(request->page_token());
  for (int i = 0; i < page_size && next != models.end(); ++i, ++next) {
    *response->add_models() = next->second;
  }
  if (next != models.end()) response->set_next_page_token(next->first);
  return grpc::Status::OK;
}

grpc::Status FakeModelService::DeleteModel(
    grpc::ServerContext* /*context*/, const v1::DeleteModelRequest* request,
    v1::DeleteModelResponse* /*response*/) {
  ++delete_calls;
  if (unavailable_deletes > 0) {
    --unavailable_deletes;
    return {grpc::StatusCode::UNAVAILABLE, "starting"};
  }
  models.erase(request->sha256());
  return grpc::Status::OK;
}

grpc::Status FakeDeviceService::ListDevices(
    grpc::ServerContext* context, const v1::ListDevicesRequest* /*request*/,
    v1::ListDevicesResponse* response) {
  if (never_answers) WaitForCancel(*context);
  *response = devices;
  return status;
}

grpc::Status FakeProbeService::CreateProbe(
    grpc::ServerContext* /*context*/, const v1::CreateProbeRequest* request,
    v1::CreateProbeResponse* response) {
  created.push_back(*request);
  if (!create_status.ok()) return create_status;
  v1::Probe& probe = *response->mutable_probe();
  probe.set_id("probe-1");
  *probe.mutable_spec() = request->spec();
  probe.set_state(v1::PROBE_STATE_QUEUED);
  return grpc::Status::OK;
}

grpc::Status FakeProbeService::ListProbes(grpc::ServerContext* /*context*/,
                                          const v1::ListProbesRequest* request,
                                          v1::ListProbesResponse* response) {
  const size_t index =
      request->page_token().empty() ? 0 : std::stoul(request->page_token());
  if (index < probes.size()) *response->add_probes() = probes[index];
  if (index + 1 < probes.size()) {
    response->set_next_page_token(std::to_string(index + 1));
  }
  return grpc::Status::OK;
}

grpc::Status FakeProbeService::WatchProbe(
    grpc::ServerContext* context, const v1::WatchProbeRequest* request,
    grpc::ServerWriter<v1::WatchProbeResponse>* writer) {
  after_versions.push_back(request->after_version());
  if (watches.empty()) {
    return RichError(grpc::StatusCode::NOT_FOUND, "no such probe",
                     "PROBE_NOT_FOUND");
  }
  const WatchScript script = watches.front();
  watches.pop_front();
  for (const v1::Probe& probe : script.versions) {
    v1::WatchProbeResponse response;
    *response.mutable_probe() = probe;
    writer->Write(response);
  }
  if (script.hold) {
    if (on_hold) on_hold();
    WaitForCancel(*context);
  }
  return script.end;
}

grpc::Status FakeProbeService::CancelProbe(
    grpc::ServerContext* /*context*/, const v1::CancelProbeRequest* request,
    v1::CancelProbeResponse* response) {
  cancelled.push_back(request->id());
  response->mutable_probe()->set_id(request->id());
  response->mutable_probe()->set_state(v1::PROBE_STATE_RUNNING);
  return grpc::Status::OK;
}

FakeDaemon::FakeDaemon(const std::string& socket_path)
    : address_("unix:" + socket_path) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(&models);
  builder.RegisterService(&devices);
  builder.RegisterService(&probes);
  server_ = builder.BuildAndStart();
}

FakeDaemon::~FakeDaemon() {
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  server_->Wait();
}

}  // namespace memplan::testing
