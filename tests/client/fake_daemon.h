// A daemon in the test's own process: the API's services on a unix socket, with
// answers that the test sets. Models are kept for real, in memory.
#ifndef MEMPLAN_TESTS_CLIENT_FAKE_DAEMON_H_
#define MEMPLAN_TESTS_CLIENT_FAKE_DAEMON_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memplan/v1/device_service.grpc.pb.h"
#include "memplan/v1/model_service.grpc.pb.h"
#include "memplan/v1/probe_service.grpc.pb.h"

namespace memplan::testing {

// `message` with ErrorInfo `reason` and, if not empty, a violation of `field`.
grpc::Status RichError(grpc::StatusCode code, const std::string& message,
                       const std::string& reason,
                       const std::string& field = "");

// One call of WatchProbe: what it sends, and how it ends. With `hold` it does
// not end until the client cancels it.
struct WatchScript {
  std::vector<v1::Probe> versions;
  bool hold = false;
  grpc::Status end;
};

class FakeModelService final : public v1::ModelService::Service {
 public:
  grpc::Status UploadModel(grpc::ServerContext* context,
                           grpc::ServerReader<v1::UploadModelRequest>* reader,
                           v1::UploadModelResponse* response) override;
  grpc::Status GetModel(grpc::ServerContext* context,
                        const v1::GetModelRequest* request,
                        v1::GetModelResponse* response) override;
  grpc::Status ListModels(grpc::ServerContext* context,
                          const v1::ListModelsRequest* request,
                          v1::ListModelsResponse* response) override;
  grpc::Status DeleteModel(grpc::ServerContext* context,
                           const v1::DeleteModelRequest* request,
                           v1::DeleteModelResponse* response) override;

  std::map<std::string, v1::Model> models;  // by SHA-256
  std::map<std::string, std::string> contents;
  std::vector<size_t> chunk_sizes;  // of the uploads, one after the other
  // Each of them ends one upload after its first chunk, which is kept.
  std::deque<grpc::Status> upload_breaks;
  // ListModels gives pages of this many, whatever is asked for.
  int page_size = 2;
  // This many calls of GetModel are answered UNAVAILABLE first.
  int unavailable_reads = 0;
  // This many calls of DeleteModel are answered UNAVAILABLE first.
  int unavailable_deletes = 0;
  int delete_calls = 0;

 private:
  grpc::Status BreakOff(const v1::UploadHeader& header);
};

class FakeDeviceService final : public v1::DeviceService::Service {
 public:
  grpc::Status ListDevices(grpc::ServerContext* context,
                           const v1::ListDevicesRequest* request,
                           v1::ListDevicesResponse* response) override;

  v1::ListDevicesResponse devices;
  grpc::Status status;
  bool never_answers = false;  // until the client gives up
};

class FakeProbeService final : public v1::ProbeService::Service {
 public:
  grpc::Status CreateProbe(grpc::ServerContext* context,
                           const v1::CreateProbeRequest* request,
                           v1::CreateProbeResponse* response) override;
  grpc::Status ListProbes(grpc::ServerContext* context,
                          const v1::ListProbesRequest* request,
                          v1::ListProbesResponse* response) override;
  grpc::Status WatchProbe(
      grpc::ServerContext* context, const v1::WatchProbeRequest* request,
      grpc::ServerWriter<v1::WatchProbeResponse>* writer) override;
  grpc::Status CancelProbe(grpc::ServerContext* context,
                           const v1::CancelProbeRequest* request,
                           v1::CancelProbeResponse* response) override;

  // The created probe's id is `probe-1`.
  std::vector<v1::CreateProbeRequest> created;
  grpc::Status create_status;
  std::vector<v1::Probe> probes;  // for ListProbes, one a page
  // One for each call of WatchProbe, in order; NOT_FOUND after the last.
  std::deque<WatchScript> watches;
  // What each call of WatchProbe knew already.
  std::vector<int64_t> after_versions;
  std::vector<std::string> cancelled;
  // Called, if set, once a held watch has sent all its versions.
  std::function<void()> on_hold;
};

// Serves from construction to destruction. Set the answers before the calls.
class FakeDaemon {
 public:
  explicit FakeDaemon(const std::string& socket_path);
  ~FakeDaemon();
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  const std::string& address() const { return address_; }

  FakeModelService models;
  FakeDeviceService devices;
  FakeProbeService probes;

 private:
  const std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_CLIENT_FAKE_DAEMON_H_
