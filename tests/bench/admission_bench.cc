// How fast admission answers over gRPC, beside the floor: the same calls of a
// service whose methods are empty, in the same process and the same run. Closed
// loop: so many calls are in flight, each followed by the next. Each figure is
// the median of five runs.
//
//   admission_bench [SECONDS]     of each run, default 2
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "memplan/v1/admission_service.grpc.pb.h"
#include "server/admission/admission.h"
#include "server/services/admission_service.h"
#include "server/services/call_observer.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;
using std::chrono::milliseconds;
using testing::TempDir;

constexpr int kDevices = 8;
constexpr int kReservations = 1000;
constexpr int kPlans = 200;
constexpr int kRuns = 5;

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

// The floor.
class EmptyService final : public v1::AdmissionService::CallbackService {
  using Context = grpc::CallbackServerContext;
  grpc::ServerUnaryReactor* Check(Context* context, const v1::CheckRequest*,
                                  v1::CheckResponse*) override {
    return Done(context);
  }
  static grpc::ServerUnaryReactor* Done(Context* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

class Served {
 public:
  Served(grpc::Service& service, const std::string& socket)
      : counts_(MethodsOf({"memplan.v1.AdmissionService"})),
        socket_("unix:" + socket) {
    grpc::ServerBuilder builder;
    std::vector<
        std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        observers;
    observers.push_back(MakeCallObserver(counts_));
    builder.experimental().SetInterceptorCreators(std::move(observers));
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.AddListeningPort(socket_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
  }
  ~Served() { server_->Shutdown(); }

  std::string tcp() const { return absl::StrFormat("127.0.0.1:%d", port_); }
  const std::string& socket() const { return socket_; }

 private:
  CallCounts counts_;
  const std::string socket_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

struct Figures {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

double At(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto index =
      static_cast<size_t>(part * static_cast<double>(sorted.size() - 1));
  return sorted[index];
}

// One call that starts the next as it ends, until the time is over.
template <typename Request, typename Response>
class Slot {
 public:
  using Send =
      std::function<void(grpc::ClientContext*, const Request*, Response*,
                         std::function<void(grpc::Status)>)>;

  Slot(Send send, std::function<Request()> make, Clock::time_point end)
      : send_(std::move(send)), make_(std::move(make)), end_(end) {}

  void Next(const std::function<void()>& done) {
    context_ = std::make_unique<grpc::ClientContext>();
    request_ = make_();
    const Clock::time_point begun = Clock::now();
    send_(
        context_.get(), &request_, &response_,
        [this, begun, done](const grpc::Status& status) {
          const Clock::time_point now = Clock::now();
          if (!status.ok()) ++failed_;
          millis_.push_back(duration<double, std::milli>(now - begun).count());
          if (now < end_) {
            Next(done);
          } else {
            done();
          }
        });
  }

  const std::vector<double>& millis() const { return millis_; }
  int failed() const { return failed_; }

 private:
  const Send send_;
  const std::function<Request()> make_;
  const Clock::time_point end_;
  std::unique_ptr<grpc::ClientContext> context_;
  Request request_;
  Response response_;
  std::vector<double> millis_;
  int failed_ = 0;
};

template <typename Request, typename Response>
Figures RunOnce(const typename Slot<Request, Response>::Send& send,
                const std::function<Request()>& make, int in_flight,
                milliseconds length) {
  const Clock::time_point begun = Clock::now();
  std::vector<std::unique_ptr<Slot<Request, Response>>> slots;
  std::mutex mutex;
  std::condition_variable changed;
  int left = in_flight;
  for (int i = 0; i < in_flight; ++i) {
    slots.push_back(
        std::make_unique<Slot<Request, Response>>(send, make, begun + length));
    slots.back()->Next([&] {
      const std::lock_guard lock(mutex);
      if (--left == 0) changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return left == 0; });
  const double seconds = duration<double>(Clock::now() - begun).count();
  std::vector<double> all;
  int failed = 0;
  for (const auto& slot : slots) {
    all.insert(all.end(), slot->millis().begin(), slot->millis().end());
    failed += slot->failed();
  }
  if (failed > 0) std::cerr << failed << " calls failed\n";
  std::sort(all.begin(), all.end());
  return {.per_second = static_cast<double>(all.size()) / seconds,
          .p50_ms = At(all, 0.5),
          .p99_ms = At(all, 0.99)};
}

Figures MedianOf(std::vector<Figures> runs) {
  const auto median = [&runs](double Figures::*member) {
    std::vector<double> values;
    for (const Figures& run : runs) values.push_back(run.*member);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  return {.per_second = median(&Figures::per_second),
          .p50_ms = median(&Figures::p50_ms),
          .p99_ms = median(&Figures::p99_ms)};
}

void Print(const std::string& name, const Figures& figures) {
  std::cout << absl::StrFormat("%-44s %9.0f /s  p50 %7.3f ms  p99 %7.3f ms\n",
                               name, figures.per_second, figures.p50_ms,
                               figures.p99_ms)
            << std::flush;
}

using Stub = v1::AdmissionService::Stub;

Figures RunChecks(Stub& stub, int in_flight, milliseconds length) {
  static std::atomic<int> next = 0;
  return RunOnce<v1::CheckRequest, v1::CheckResponse>(
      [&stub](grpc::ClientContext* context, const v1::CheckRequest* request,
              v1::CheckResponse* response,
              std::function<void(grpc::Status)> done) {
        stub.async()->Check(context, request, response, std::move(done));
      },
      [] {
        v1::CheckRequest request;
        v1::ModelNeed& model = *request.mutable_job()->mutable_model();
        model.set_model_sha256(Model(next++ % kPlans));
        model.set_batch(20);
        return request;
      },
      in_flight, length);
}

std::unique_ptr<Stub> StubAt(const std::string& address) {
  return v1::AdmissionService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

// Floor and checks take turns, so that a noisy moment meets both.
void Compare(const std::string& name, const std::string& floor_address,
             const std::string& address, int in_flight, milliseconds length) {
  const auto floor_stub = StubAt(floor_address);
  const auto stub = StubAt(address);
  std::vector<Figures> floors;
  std::vector<Figures> checks;
  for (int i = 0; i < kRuns; ++i) {
    floors.push_back(RunChecks(*floor_stub, in_flight, length));
    checks.push_back(RunChecks(*stub, in_flight, length));
  }
  const Figures floor = MedianOf(floors);
  const Figures check = MedianOf(checks);
  Print("empty method, " + name, floor);
  Print("Check, " + name, check);
  std::cout << absl::StrFormat("  rate %.2f of the floor, p99 %.2f times\n",
                               check.per_second / floor.per_second,
                               check.p99_ms / floor.p99_ms);
}

Figures RunReserves(Stub& stub, int in_flight, milliseconds length) {
  return RunOnce<v1::ReserveRequest, v1::ReserveResponse>(
      [&stub](grpc::ClientContext* context, const v1::ReserveRequest* request,
              v1::ReserveResponse* response,
              std::function<void(grpc::Status)> done) {
        stub.async()->Reserve(context, request, response, std::move(done));
      },
      [] {
        v1::ReserveRequest request;
        request.mutable_job()->set_bytes(1024);
        request.mutable_lifetime()->set_seconds(3600);
        return request;
      },
      in_flight, length);
}

Figures RunBatches(Stub& stub, milliseconds length) {
  return RunOnce<v1::BatchCheckRequest, v1::BatchCheckResponse>(
      [&stub](grpc::ClientContext* context,
              const v1::BatchCheckRequest* request,
              v1::BatchCheckResponse* response,
              std::function<void(grpc::Status)> done) {
        stub.async()->BatchCheck(context, request, response, std::move(done));
      },
      [] {
        v1::BatchCheckRequest request;
        for (int i = 0; i < 64; ++i) {
          v1::ModelNeed& model = *request.add_jobs()->mutable_model();
          model.set_model_sha256(Model(i));
          model.set_batch(20);
        }
        return request;
      },
      1, length);
}

double MedianSyncMillis(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  std::vector<double> millis;
  const std::string page(4096, 'x');
  for (int i = 0; i < 200; ++i) {
    const Clock::time_point begun = Clock::now();
    if (pwrite(file, page.data(), page.size(), i * 4096) < 0) break;
    fdatasync(file);
    millis.push_back(
        duration<double, std::milli>(Clock::now() - begun).count());
  }
  close(file);
  std::sort(millis.begin(), millis.end());
  return At(millis, 0.5);
}

void Fill(Admission& admission) {
  for (int i = 0; i < kPlans; ++i) admission.needs().Add(EndedProbe(i));
  std::mutex mutex;
  std::condition_variable changed;
  int left = kReservations;
  for (int i = 0; i < kReservations; ++i) {
    admission.Reserve(
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

int Main(milliseconds length) {
  const TempDir dir;
  const auto store = *ReservationStore::Open(dir.Path("reservations.db"));
  const SystemProcessTable processes;
  const auto snapshot = EightCards();
  AdmissionRules rules;
  rules.max_age = std::chrono::hours(24);
  rules.max_reservations = 1'000'000;
  const auto admission =
      *Admission::Start(rules, {.devices = [snapshot] { return snapshot; },
                                .processes = processes,
                                .store = *store});
  admission->Tick();
  Fill(*admission);
  CallPlaces places;
  AdmissionService service({*admission, places.watches});
  EmptyService empty;
  {
    const Served real(service, dir.Path("real.sock"));
    const Served floor(empty, dir.Path("floor.sock"));
    Compare("TCP, 4 in flight", floor.tcp(), real.tcp(), 4, length);
    Compare("TCP, 1 in flight", floor.tcp(), real.tcp(), 1, length);
    Compare("unix socket, 1 in flight", floor.socket(), real.socket(), 1,
            length);
    Compare("unix socket, 8 in flight", floor.socket(), real.socket(), 8,
            length);
    const auto stub = StubAt(real.tcp());
    std::vector<Figures> batches;
    std::vector<Figures> reserves;
    const int64_t commits = store->commits();
    for (int i = 0; i < kRuns; ++i)
      batches.push_back(RunBatches(*stub, length));
    for (int i = 0; i < kRuns; ++i) {
      reserves.push_back(RunReserves(*stub, 32, length));
    }
    Print("BatchCheck of 64, TCP, 1 in flight", MedianOf(batches));
    Print("Reserve, durable, TCP, 32 in flight", MedianOf(reserves));
    std::cout << absl::StrFormat(
        "  %d commits; median of write and fdatasync of 4 KiB %.3f ms\n",
        store->commits() - commits, MedianSyncMillis(dir.Path("sync")));
  }
  store->Stop();
  admission->Stop();
  return 0;
}

}  // namespace
}  // namespace memplan

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 2;
  return memplan::Main(std::chrono::seconds(std::max(seconds, 1)));
}
