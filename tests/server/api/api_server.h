// The daemon's services in this process, over a real gRPC server on a unix
// socket in a private folder: real store and job queue, trials from a table, a
// driver that the test plays.
#ifndef MEMPLAN_TESTS_SERVER_API_API_SERVER_H_
#define MEMPLAN_TESTS_SERVER_API_API_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "memplan/v1/device_service.grpc.pb.h"
#include "memplan/v1/model_service.grpc.pb.h"
#include "memplan/v1/plan_service.grpc.pb.h"
#include "memplan/v1/probe_service.grpc.pb.h"
#include "server/base/reason.h"
#include "server/base/work_queue.h"
#include "server/devices/device_monitor.h"
#include "server/jobs/probe_jobs.h"
#include "server/services/device_service.h"
#include "server/services/model_service.h"
#include "server/services/plan_service.h"
#include "server/services/probe_service.h"
#include "server/store/database.h"
#include "server/store/model_store.h"
#include "server/store/probe_store.h"
#include "server/store/store_folder.h"
#include "tests/server/api/fake_device_source.h"
#include "tests/server/core/fake_trial_runner.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {

// A GPU of 1000 MiB and `cpu` of 4 GiB.
inline DeviceSnapshot GpuAndCpu() {
  DeviceSnapshot snapshot;
  snapshot.devices.resize(2);
  snapshot.devices[0].id = "GPU-aaaa";
  snapshot.devices[0].total = MiB(1000);
  snapshot.devices[1].id = "cpu";
  snapshot.devices[1].is_cpu = true;
  snapshot.devices[1].total = GiB(4);
  return snapshot;
}

// A runner whose worker can be taken away.
class RunnerWithWorker : public FakeTrialRunner {
 public:
  using FakeTrialRunner::FakeTrialRunner;
  absl::Status CheckUsable() const override {
    if (!worker_is_missing_) return absl::OkStatus();
    return WithReason(absl::FailedPreconditionError("no worker at /nowhere"),
                      "WORKER_UNUSABLE");
  }
  void LoseWorker() { worker_is_missing_ = true; }

 private:
  std::atomic<bool> worker_is_missing_ = false;
};

class ApiServer {
 public:
  explicit ApiServer(
      std::function<DeviceSnapshot()> devices = GpuAndCpu,
      FakeTrialRunner::Outcome outcome = FakeTrialRunner::FitsUpTo(37),
      std::chrono::milliseconds upload_idle_timeout = std::chrono::minutes(1))
      : runner_(std::move(outcome)),
        devices_({std::make_shared<SnapshotSource>(std::move(devices))},
                 {.interval = std::chrono::hours(1),
                  .deadline = std::chrono::hours(1)}) {
    folder_ = *StoreFolder::Open(dir_.Path("store"));
    database_ = *Database::Open(folder_->database_path());
    models_ = *OpenModelStore(*folder_, *database_);
    probes_ = *OpenProbeStore(*folder_, *database_);
    jobs_ = *ProbeJobs::Start({}, *probes_, *models_, runner_);
    device_service_ = std::make_unique<DeviceService>(devices_);
    model_service_ = std::make_unique<ModelService>(
        *models_, disk_, places_.uploads, upload_idle_timeout);
    plan_service_ = std::make_unique<PlanService>(replays_, places_.replays);
    probe_service_ = std::make_unique<ProbeService>(
        ProbeSupport{*jobs_, runner_, devices_, disk_, places_.watches});
    const std::string address = "unix:" + dir_.Path("socket");
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(device_service_.get());
    builder.RegisterService(model_service_.get());
    builder.RegisterService(plan_service_.get());
    builder.RegisterService(probe_service_.get());
    server_ = builder.BuildAndStart();
    channel_ = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  }
  ~ApiServer() { Stop(); }
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Calls in progress, of which it takes only so many.
  const CallPlaces& places() const { return places_; }

  // As the daemon ends.
  void Stop() {
    jobs_->Stop();
    devices_.Stop(std::chrono::seconds(2));
    server_->Shutdown(std::chrono::system_clock::now() +
                      std::chrono::seconds(5));
  }

  std::unique_ptr<v1::DeviceService::Stub> devices() {
    return v1::DeviceService::NewStub(channel_);
  }
  std::unique_ptr<v1::ModelService::Stub> models() {
    return v1::ModelService::NewStub(channel_);
  }
  std::unique_ptr<v1::PlanService::Stub> plans() {
    return v1::PlanService::NewStub(channel_);
  }
  std::unique_ptr<v1::ProbeService::Stub> probes() {
    return v1::ProbeService::NewStub(channel_);
  }
  RunnerWithWorker& runner() { return runner_; }
  ProbeJobs& jobs() { return *jobs_; }

 private:
  TempDir dir_;
  RunnerWithWorker runner_;
  DeviceMonitor devices_;
  WorkQueue disk_{2, 64};
  CallPlaces places_;
  WorkQueue replays_{1, 16};
  std::unique_ptr<StoreFolder> folder_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<ModelStore> models_;
  std::unique_ptr<ProbeStore> probes_;
  std::unique_ptr<ProbeJobs> jobs_;
  std::unique_ptr<DeviceService> device_service_;
  std::unique_ptr<ModelService> model_service_;
  std::unique_ptr<PlanService> plan_service_;
  std::unique_ptr<ProbeService> probe_service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// A context whose call fails rather than hang a test.
class TestContext : public grpc::ClientContext {
 public:
  TestContext() {
    set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  }
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_API_API_SERVER_H_
