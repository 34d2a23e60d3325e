// A typed client of the daemon: one method a call, protobuf messages as the
// vocabulary, absl::Status with the daemon's details as payloads (errors.h).
//
// Short calls have a deadline. Reads that meet a daemon that is just starting or
// stopping are tried again for about a second; calls that change something are
// sent once, but for uploads, which go on where they broke off.
#ifndef MEMPLAN_CLIENT_CLIENT_H_
#define MEMPLAN_CLIENT_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/address.h"
#include "client/tls.h"
#include "memplan/v1/admission_service.grpc.pb.h"
#include "memplan/v1/device_service.grpc.pb.h"
#include "memplan/v1/model_service.grpc.pb.h"
#include "memplan/v1/plan_service.grpc.pb.h"
#include "memplan/v1/probe_service.grpc.pb.h"
#include "memplan/v1/server_service.grpc.pb.h"

namespace memplan {

class ModelFile;

struct ClientOptions {
  DaemonAddress address;
  // For an address that is HOST:PORT; empty texts for no TLS.
  TlsTexts tls = {};
  // The longest a short call may take. An upload gets a second more for each MiB.
  std::chrono::milliseconds timeout = std::chrono::seconds(15);
  // How long a watch or an upload tries to reach a daemon that has gone away.
  std::chrono::milliseconds reconnect_patience = std::chrono::seconds(30);
};

// The text of a trace, recorded at this batch.
struct BatchTrace {
  int64_t batch = 0;
  std::string text;
};

// What an upload tells; all may be empty.
struct UploadObserver {
  // The daemon has been sent so many of the file's bytes.
  std::function<void(int64_t sent, int64_t total)> on_progress = {};
  // The upload broke off, or another one of the same file is in progress: it is
  // tried again.
  std::function<void(const absl::Status&)> on_wait = {};
};

// What a watcher is told; both may be empty.
struct WatchObserver {
  std::function<void(const v1::Probe&)> on_change;
  // The daemon went away; the watch goes on once it is back.
  std::function<void(const absl::Status&)> on_lost = {};
  // It is back.
  std::function<void()> on_back = {};
};

// True for SUCCEEDED, FAILED and CANCELLED.
bool HasEnded(v1::ProbeState state);

// Thread-safe. Every method blocks and returns, besides the errors the protos
// name: kUnavailable if the daemon cannot be reached, kDeadlineExceeded if it
// does not answer in time, kCancelled if `stop` asks for it.
class Client {
 public:
  // Makes a channel; connects at the first call.
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Reads the file twice: once for its SHA-256, and once to send what the daemon
  // does not have of it (`already_stored` if it has all). An upload that breaks
  // off goes on where it ended, as long as the daemon takes bytes at least once
  // in `reconnect_patience`; one that another client has begun is waited for, as
  // long as that gets on. kNotFound, kPermissionDenied or
  // kInvalidArgument, naming the path, for a file that cannot be read or is empty.
  absl::StatusOr<v1::UploadModelResponse> UploadModel(
      const std::string& path, const std::string& display_name,
      const UploadObserver& observer, const std::stop_token& stop);
  absl::StatusOr<v1::Model> GetModel(const std::string& sha256);
  // All models: every page in one answer.
  absl::StatusOr<v1::ListModelsResponse> ListModels();
  absl::StatusOr<v1::DeleteModelResponse> DeleteModel(
      const std::string& sha256);

  absl::StatusOr<v1::ListDevicesResponse> ListDevices();

  absl::StatusOr<v1::ServerStatus> GetServerStatus();
  // Returns the level before.
  absl::StatusOr<v1::LogLevel> SetLogLevel(v1::LogLevel level);

  // Tried again as WatchProbe is, since `request_id` makes that safe; without
  // one it is sent once.
  absl::StatusOr<v1::Probe> CreateProbe(const v1::ProbeSpec& spec,
                                        const std::string& request_id);
  absl::StatusOr<v1::Probe> GetProbe(const std::string& id);
  // The newest probes, at most `limit`.
  absl::StatusOr<v1::ListProbesResponse> ListProbes(int limit);
  absl::StatusOr<v1::Probe> CancelProbe(const std::string& id);

  // Follows a probe to its end and returns it then. If the daemon goes away, it
  // is looked for with growing pauses, `reconnect_patience` at most, and the
  // watch goes on after the last version that came.
  absl::StatusOr<v1::Probe> WatchProbe(const std::string& id,
                                       const WatchObserver& observer,
                                       const std::stop_token& stop);

  // Returns the probe once it has ended, or as it is when `patience` (at least 0)
  // is over. A daemon that goes away meanwhile is waited for as by WatchProbe.
  absl::StatusOr<v1::Probe> WaitProbe(const std::string& id,
                                      std::chrono::milliseconds patience,
                                      const WatchObserver& observer,
                                      const std::stop_token& stop);

  // Judges a job; holds nothing.
  absl::StatusOr<v1::CheckResponse> Check(const v1::Job& job);
  // Tried again as CreateProbe, with the request's own `request_id`.
  absl::StatusOr<v1::ReserveResponse> Reserve(
      const v1::ReserveRequest& request);
  // Waits up to `patience` for room, in calls of a few minutes that keep the
  // place in line by the request_id, which must be there. `stop` ends it.
  absl::StatusOr<v1::WaitForMemoryResponse> WaitForMemory(
      const v1::ReserveRequest& request, std::chrono::milliseconds patience,
      const std::stop_token& stop);
  absl::StatusOr<v1::Reservation> Renew(const v1::RenewRequest& request);
  absl::StatusOr<v1::Reservation> Adopt(const v1::AdoptRequest& request);
  absl::StatusOr<v1::Reservation> Release(const v1::ReleaseRequest& request);
  absl::StatusOr<v1::Reservation> ReportOutcome(
      const v1::ReportOutcomeRequest& request);
  // All reservations: every page in one answer.
  absl::StatusOr<v1::ListReservationsResponse> ListReservations(
      bool show_ended, const std::string& device_id);

  // Replays the text of a trace.
  absl::StatusOr<v1::ReplayResponse> Replay(const v1::ReplayHeader& header,
                                            std::string_view trace);
  absl::StatusOr<v1::EstimateResponse> Estimate(
      const v1::EstimateHeader& header, std::span<const BatchTrace> traces);

 private:
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(
      Stub& stub,
      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                   Response*),
      const Request& request);
  // Asks how much there is of the model, and sends the rest. `kept_bytes` is how
  // much that was when it began.
  absl::Status UploadOnce(ModelFile& file, const v1::UploadHeader& header,
                          const UploadObserver& observer,
                          const std::stop_token& stop,
                          v1::UploadModelResponse& response,
                          int64_t& kept_bytes);
  absl::Status SendModel(ModelFile& file, const v1::UploadHeader& header,
                         int64_t offset, const UploadObserver& observer,
                         const std::stop_token& stop,
                         v1::UploadModelResponse& response);
  // Sends what comes after the version of `latest` there.
  absl::Status WatchOnce(const std::string& id, const WatchObserver& observer,
                         const std::stop_token& stop,
                         std::optional<v1::Probe>& latest);
  absl::StatusOr<v1::Probe> WaitOnce(const std::string& id,
                                     std::chrono::milliseconds patience,
                                     const std::stop_token& stop);
  // Its deadline: the timeout, and a second more for each MiB.
  void SetSendDeadline(grpc::ClientContext& context, int64_t bytes) const;
  absl::Status FromRpc(const grpc::Status& status) const;

  absl::StatusOr<v1::WaitForMemoryResponse> WaitForMemoryOnce(
      const v1::ReserveRequest& request, std::chrono::milliseconds patience,
      const std::stop_token& stop);

  ClientOptions options_;
  std::unique_ptr<v1::AdmissionService::StubInterface> admission_;
  std::unique_ptr<v1::ModelService::StubInterface> models_;
  std::unique_ptr<v1::DeviceService::StubInterface> devices_;
  std::unique_ptr<v1::PlanService::StubInterface> plans_;
  std::unique_ptr<v1::ProbeService::StubInterface> probes_;
  std::unique_ptr<v1::ServerService::StubInterface> server_;
};

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Client::Call(
    Stub& stub,
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                 Response*),
    const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + options_.timeout);
  Response response;
  if (absl::Status status =
          FromRpc((stub.*method)(&context, request, &response));
      !status.ok()) {
    return status;
  }
  return response;
}

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLIENT_H_
