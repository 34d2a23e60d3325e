#include "tests/bench/bench_node.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/services/call_observer.h"

namespace memplan::testing {
namespace {

constexpr int kDevices = 8;
constexpr int kReservations = 1000;
constexpr int kPlans = 200;

std::string Model(int number) { return absl::StrFormat("%064x", number); }

std::shared_ptr<const DeviceSnapshot> EightCards() {
  auto snapshot = std::make_shared<DeviceSnapshot>();
  for (int i = 0; i < kDevices; ++i) {
    Device& device = snapshot->devices.emplace_back();
    device.id = absl::StrFormat("GPU-%08d-0000-0000-0000-000000000000", i);
    device.display_name = "NVIDIA H200";
    device.total = GiB(140);
    device.driver_reserve = MiB(600);
    device.used = GiB(20);
    device.free = GiB(120) - MiB(600);
    device.unattributed = MiB(10);
    device.processes = {{4711 + i, "python", GiB(20)}};
    device.snapshot_id = i + 1;
  }
  return snapshot;
}

Probe EndedProbe(int number) {
  Probe probe;
  probe.id = absl::StrFormat("probe-%d", number);
  probe.spec.model_sha256 = Model(number);
  probe.spec.device_id = EightCards()->devices[0].id;
  probe.device_identity =
      probe.spec.device_id + ", NVIDIA H200, 150323855360 bytes, driver 570.1";
  for (const int64_t batch : {8, 16, 32, 24, 28}) {
    Trial trial;
    trial.batch = batch;
    trial.steps.resize(1);
    trial.steps[0].peaks.reserved = MiB(100) * batch;
    trial.context = MiB(600);
    probe.trials.push_back(trial);
  }
  return probe;
}

class EmptyService final : public v1::AdmissionService::CallbackService {
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const v1::CheckRequest*,
                                  v1::CheckResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

AdmissionRules BenchRules() {
  AdmissionRules rules;
  rules.max_age = std::chrono::hours(24);
  rules.max_reservations = 1'000'000;
  return rules;
}

}  // namespace

BenchServer::BenchServer(grpc::Service& service, const std::string& socket)
    : counts_(MethodsOf({"memplan.v1.AdmissionService"})),
      socket_("unix:" + socket) {
  grpc::ServerBuilder builder;
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      observers;
  observers.push_back(MakeCallObserver(counts_));
  builder.experimental().SetInterceptorCreators(std::move(observers));
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.AddListeningPort(socket_, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  server_ = builder.BuildAndStart();
  tcp_ = absl::StrCat("127.0.0.1:", port);
}

MethodCalls BenchServer::Checks() const {
  for (MethodCalls& calls : counts_.Read()) {
    if (calls.method.method == "Check") return std::move(calls);
  }
  return {};
}

BenchNode::BenchNode() {
  store_ = *ReservationStore::Open(dir_.Path("reservations.db"));
  const auto snapshot = EightCards();
  admission_ = *Admission::Start(BenchRules(),
                                 {.devices = [snapshot] { return snapshot; },
                                  .processes = processes_,
                                  .store = *store_});
  admission_->Tick();
  Fill();
  service_ = ServiceBehind(open_);
  empty_ = std::make_unique<EmptyService>();
  real_ = std::make_unique<BenchServer>(*service_, dir_.Path("real.sock"));
  floor_ = std::make_unique<BenchServer>(*empty_, dir_.Path("floor.sock"));
}

BenchNode::~BenchNode() {
  real_.reset();
  floor_.reset();
  store_->Stop();
  admission_->Stop();
}

std::unique_ptr<AdmissionService> BenchNode::ServiceBehind(CallGate& gate) {
  return std::make_unique<AdmissionService>(
      AdmissionSupport{*admission_, places_.watches, gate});
}

std::unique_ptr<BenchServer> BenchNode::Gated(int64_t checks_per_second) {
  gate_ = std::make_unique<CallGate>(checks_per_second);
  gated_ = ServiceBehind(*gate_);
  return std::make_unique<BenchServer>(*gated_, dir_.Path("gated.sock"));
}

void BenchNode::Fill() {
  for (int i = 0; i < kPlans; ++i) admission_->needs().Add(EndedProbe(i));
  std::mutex mutex;
  std::condition_variable changed;
  int left = kReservations;
  for (int i = 0; i < kReservations; ++i) {
    admission_->Reserve(
        {.job = {.need = MiB(64), .placement = Placement::kSpread},
         .lifetime = absl::Hours(1),
         .holder = "bench"},
        [&](const absl::StatusOr<Admitted>&) {
          const std::lock_guard lock(mutex);
          if (--left == 0) changed.notify_all();
        });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return left == 0; });
}

v1::CheckRequest CheckOfAPlan() {
  static std::atomic<int> next = 0;
  v1::CheckRequest request;
  v1::ModelNeed& model = *request.mutable_job()->mutable_model();
  model.set_model_sha256(Model(next++ % kPlans));
  model.set_batch(20);
  return request;
}

v1::BatchCheckRequest BatchOfPlans(int jobs) {
  v1::BatchCheckRequest request;
  for (int i = 0; i < jobs; ++i) {
    *request.add_jobs() = CheckOfAPlan().job();
  }
  return request;
}

}  // namespace memplan::testing
