#include "tests/bench/overload.h"

#include <thread>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/bench/bench_node.h"

namespace memplan::testing {
namespace {

bool HasRetryInfo(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return false;
  for (const auto& detail : details.details()) {
    if (detail.Is<google::rpc::RetryInfo>()) return true;
  }
  return false;
}

// The calls that are under way, and what became of those that ended.
class Offered {
 public:
  explicit Offered(v1::AdmissionService::Stub& stub) : stub_(stub) {}

  void Start() {
    auto* call = new Call{.request = CheckOfAPlan()};
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;
    }
    call->begun = BenchClock::now();
    stub_.async()->Check(&call->context, &call->request, &call->response,
                         [this, call](const grpc::Status& status) {
                           End(status, BenchClock::now() - call->begun);
                           delete call;
                         });
  }

  OfferedLoad Wait(BenchClock::duration length) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
    load_.accepted = FiguresOf(accepted_, 0, length);
    load_.refused = FiguresOf(refused_, 0, length);
    return load_;
  }

 private:
  struct Call {
    grpc::ClientContext context = {};
    v1::CheckRequest request;
    v1::CheckResponse response = {};
    BenchClock::time_point begun = {};
  };

  void End(const grpc::Status& status, BenchClock::duration took) {
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      accepted_.Add(took);
    } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      refused_.Add(took);
      if (!HasRetryInfo(status)) ++load_.without_delay;
    } else {
      ++load_.failed;
    }
    if (--under_way_ == 0) changed_.notify_all();
  }

  v1::AdmissionService::Stub& stub_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t under_way_ = 0;
  Latencies accepted_;
  Latencies refused_;
  OfferedLoad load_;
};

}  // namespace

OfferedLoad OfferChecks(v1::AdmissionService::Stub& stub, double per_second,
                        BenchClock::duration length) {
  Offered offered(stub);
  const BenchClock::time_point begun = BenchClock::now();
  const auto calls = static_cast<int64_t>(
      per_second * std::chrono::duration<double>(length).count());
  for (int64_t i = 0; i < calls; ++i) {
    std::this_thread::sleep_until(
        begun + std::chrono::duration_cast<BenchClock::duration>(
                    std::chrono::duration<double>(static_cast<double>(i) /
                                                  per_second)));
    offered.Start();
  }
  return offered.Wait(BenchClock::now() - begun);
}

}  // namespace memplan::testing
