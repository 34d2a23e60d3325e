// The daemon: every part of it, in the order in which they start and, backwards,
// end.
//
//   store ─▶ devices ─▶ workers ─▶ admission ─▶ jobs ─▶ services ─▶ gRPC ─▶ metrics
#ifndef MEMPLAN_SERVER_PROGRAM_DAEMON_H_
#define MEMPLAN_SERVER_PROGRAM_DAEMON_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/admission/admission.h"
#include "server/admission/process_table.h"
#include "server/admission/reservation_store.h"
#include "server/base/call_counts.h"
#include "server/base/server_status.h"
#include "server/base/ticker.h"
#include "server/base/work_queue.h"
#include "server/devices/device_monitor.h"
#include "server/jobs/probe_jobs.h"
#include "server/metrics/families.h"
#include "server/metrics/http_endpoint.h"
#include "server/program/live_certificate.h"
#include "server/program/options.h"
#include "server/program/rpc_server.h"
#include "server/services/admission_service.h"
#include "server/services/call_gate.h"
#include "server/services/device_service.h"
#include "server/services/model_service.h"
#include "server/services/places.h"
#include "server/services/plan_service.h"
#include "server/services/probe_service.h"
#include "server/services/server_service.h"
#include "server/store/call_results.h"
#include "server/store/database.h"
#include "server/store/model_store.h"
#include "server/store/probe_store.h"
#include "server/store/store_folder.h"
#include "server/workers/process_trial_runner.h"

namespace memplan {

// Used by one thread, main's, but for CheckAlive. Block the signals that are to
// end the program before it is started: its threads inherit that.
class Daemon {
 public:
  // Starts everything; the daemon serves when this returns. An error says what
  // to do, and nothing is left running.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(ServerOptions options);
  // As Stop.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // `ready socket=… tcp=… metrics=… store=…`, with `none` for what is off.
  std::string ReadyLine() const;

  // Whether its locks can be had, and its disk queue and gRPC server answer
  // within `patience`; kUnavailable says what does not, and a lock that nobody
  // gives back holds the caller. While it serves, on any thread. Replays may
  // take long and say nothing about life.
  absl::Status CheckAlive(std::chrono::milliseconds patience);

  // Ends in order, within the options' drain_delay and drain_grace together:
  // health says NOT SERVING; after the delay new work is refused; running trials
  // and calls may end; what has not by then is cut short (probes go on after the
  // next start). Later calls do nothing.
  void Stop();

 private:
  explicit Daemon(ServerOptions options);

  absl::Status ClaimSockets();
  absl::Status OpenStore();
  absl::Status StartJobs();
  absl::Status StartAdmission();
  // Holds memory for a probe of ours that is about to start.
  ProbeJobs::Options::Room HoldRoom(const Probe& probe, const Device& device);
  void ExpectProbe();
  absl::Status LearnSandbox();
  absl::Status StartServing();
  absl::Status StartRpc();
  absl::Status SecureTcp(RpcAddresses& addresses);
  MetricsInput ReadMetrics() const;
  ServerStatus ReadStatus() const;
  std::vector<LimitStatus> ReadLimits() const;
  void Drain();
  // Looks at every part, and tells the health service.
  void CheckParts();
  std::vector<PartStatus> parts() const;

  const ServerOptions options_;
  const Time start_time_;
  std::atomic<ServerState> state_ = ServerState::kServing;
  // When running trials and calls are to have ended; set by Drain.
  std::chrono::steady_clock::time_point drained_by_;
  CallCounts calls_;
  CallPlaces places_;
  CallGate gate_;
  mutable std::mutex parts_mutex_;
  std::vector<PartStatus> parts_;  // under parts_mutex_

  std::unique_ptr<StoreFolder> folder_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<ModelStore> models_;
  std::unique_ptr<ProbeStore> probes_;
  std::unique_ptr<CallResults> call_results_;
  std::unique_ptr<DeviceMonitor> devices_;
  std::unique_ptr<ProcessTrialRunner> runner_;
  CancelSignal stopping_;  // ends the check of the sandbox
  std::thread sandbox_check_;
  std::unique_ptr<WorkQueue> disk_;
  std::unique_ptr<WorkQueue> replays_;
  std::unique_ptr<ReservationStore> reservations_;
  const SystemProcessTable processes_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<ProbeJobs> jobs_;
  std::unique_ptr<AdmissionService> admission_service_;
  std::unique_ptr<DeviceService> device_service_;
  std::unique_ptr<ModelService> model_service_;
  std::unique_ptr<PlanService> plan_service_;
  std::unique_ptr<ProbeService> probe_service_;
  std::unique_ptr<ServerService> server_service_;
  std::vector<std::unique_ptr<grpc::Service>> observer_services_;
  std::unique_ptr<LiveCertificate> certificate_;          // null without TLS
  std::shared_ptr<grpc::ServerCredentials> credentials_;  // of certificate_
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<Ticker> certificate_looks_;
  std::unique_ptr<Ticker> part_checks_;
  std::unique_ptr<Ticker> sweeps_;
  std::unique_ptr<HttpEndpoint> metrics_page_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_DAEMON_H_
